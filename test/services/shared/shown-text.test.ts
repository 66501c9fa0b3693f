import fc from 'fast-check'
import t from 'tap'
import { routeHeader } from '../../../services/routing/describe.ts'
import type { RouterDecision } from '../../../services/routing/types.ts'
import { GatewayError } from '../../../services/shared/errors.ts'
import { headerText, shownText } from '../../../services/shared/shown-text.ts'
import { anyCharacter } from '../../helpers/any-character.ts'

const odd = ['m-emoji-😀', '\ud83d', '\ude00\ud83d', 'ü\r\nset-cookie: a=1', '"\\', '\u2028', '\0', '😀'.repeat(500_000), 'a'.repeat(1_000_000)]
const texts = fc.string({ unit: anyCharacter, maxLength: 300 })
const names = fc.oneof(fc.constantFrom(...odd), texts.map(text => text + odd[1]))

t.test('a name of any kind becomes a header that can be sent, of bounded length', async () => {
  fc.assert(fc.property(names, name => /^[\x20-\x7e]*$/.test(headerText(name)) && headerText(name).length < 13_000))
  fc.assert(fc.property(names, name => {
    const best = { id: name, costNano: 1 }
    const decision = { policy: name, ranked: [], candidates: [], best, confidence: 1, reason: 'r', domain: 'd' }
    return /^[\x20-\x7e]*$/.test(routeHeader(decision as unknown as RouterDecision, name))
  }))
})

t.test('a plain name is a header as it is, others can be decoded', async t => {
  t.equal(headerText('gpt-5'), 'gpt-5')
  t.equal(decodeURIComponent(headerText('m-emoji-😀')), 'm-emoji-😀')
})

t.test('a shown text is well-formed and cut between characters', async t => {
  fc.assert(fc.property(names, fc.nat(100), (name, length) => {
    const shown = shownText(name, length)
    return shown.isWellFormed() && shown.length <= length + 1
  }))
  t.equal(shownText('ab😀', 3), 'ab…')
  t.equal(shownText('ab😀', 4), 'ab😀')
})

t.test('messages do not repeat a long name of a model', async t => {
  for (const error of [GatewayError.modelNotFound('😀'.repeat(500_000)), GatewayError.unknownModel('a'.repeat(1_000_000))]) {
    t.ok(error.message.length < 400 && error.message.isWellFormed())
  }
})
