import t from 'tap'
import { attacks, warmUps } from '../hostile/attacks.ts'
import { startMetered } from '../hostile/metered-gateway.ts'

/** The longest time for which one request may keep the event loop. */
const limitMs = 100
/** Other work of the machine lengthens a turn now and then, the request's own work does so each time. */
const tries = 5

t.test('no request keeps others waiting for long, and a small heap survives each', { timeout: 300_000 }, async t => {
  const gateway = await startMetered(t, { heapMb: 512 })
  for (const { path, body } of warmUps) await (await gateway.send(path, body())).text()
  for (const { name, path, body } of attacks) {
    const text = body()
    const pausesMs: number[] = []
    while (pausesMs.length < tries && !pausesMs.some(pauseMs => pauseMs <= limitMs)) {
      await gateway.read()
      const answer = await gateway.send(path, text)
      const answered = await answer.text()
      pausesMs.push((await gateway.read()).longestMs)
      t.ok(answer.status < 500, `${name}: ${answer.status}`)
      t.ok(answered.length < 1000 || answer.status === 200, `${name}: an error is short`)
    }
    t.ok(Math.min(...pausesMs) <= limitMs, `${name}: ${pausesMs.map(Math.round).join(', ')} ms`)
  }
  t.equal(gateway.process.child.exitCode, null, gateway.process.output().slice(-2000))
})
