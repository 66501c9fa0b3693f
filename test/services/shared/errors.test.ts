import t from 'tap'
import { GatewayError } from '../../../services/shared/errors.ts'

t.test('an error quotes what clients and providers send only so far, and in well-formed text', async t => {
  const odd = 'a\ud83d'.repeat(100_000)
  const { error: { message, param } } = GatewayError.invalidValue(odd, odd).toBody()
  t.ok(message.length < 5_000 && (param ?? '').length < 300)
  t.ok(message.isWellFormed() && param?.isWellFormed())
})
