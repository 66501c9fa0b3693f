import t from 'tap'
import { conversations } from '../hostile/attacks.ts'
import { measureTurns, oddModels, startBeforeOddProvider } from '../hostile/odd-provider.ts'

/** Such bodies are parsed, translated and serialized in one turn, beside other tests. */
const limitMs = 200

t.test('as many items as a request may have are translated in linear time, from and to each form', async t => {
  const { gateway } = await startBeforeOddProvider(t)
  for (const model of oddModels) {
    for (const { name, path, body } of conversations(model)) {
      const { statuses, longestMs } = await measureTurns(gateway, { path, body: body() }, limitMs)
      // The provider's answer is no answer.
      t.ok(statuses.every(status => [200, 400, 413, 502].includes(status)), `${name}, ${path}: ${statuses}`)
      t.ok(Math.min(...longestMs) <= limitMs, `${name}, ${path}: ${longestMs.map(Math.round).join(', ')} ms`)
    }
  }
  t.equal(gateway.process.child.exitCode, null, gateway.process.output().slice(-2000))
})
