import t from 'tap'
import { GatewayError } from '../../../services/shared/errors.ts'
import { warmUpRouter } from '../../../services/routing/warm-up.ts'
import type { Router } from '../../../services/routing/router.ts'
import { modelOf, routerOf } from './helper.ts'
import type { RoutingRequest } from '../../../services/routing/types.ts'

const soon = { afterMs: 0, everyMs: 0 }
const router = routerOf({ models: [modelOf({ id: 'small' }), modelOf({ id: 'large', input: 10, output: 30 })] })

/** Warms up with `decide` to the end, and returns the requests and errors. */
async function warmUpWith (decisions: number, decide: Router['decide']) {
  const received: RoutingRequest[] = []
  const errors: unknown[] = []
  let warmings = 0
  const { promise, resolve } = Promise.withResolvers<void>()
  const noted: Router['decide'] = routing => {
    received.push(routing)
    if (received.length === decisions) resolve()
    return decide(routing)
  }
  const onError = (error: unknown): void => {
    errors.push(error)
    resolve()
  }
  // The warm-up itself does not keep the process alive.
  const alive = setInterval(() => {}, 1000)
  warmUpRouter({ decide: noted }, { ...soon, decisions, onError, onWarm: () => warmings++ })
  await promise
  await new Promise(resolve => { setTimeout(resolve, 20) })
  clearInterval(alive)
  return { received, errors, warmings }
}

t.test('synthetic requests cover all policies and very different lengths', async t => {
  const { received, errors } = await warmUpWith(80, router.decide)
  t.strictSame(errors, [])
  const lengths = received.map(({ request: { messages } }) => JSON.stringify(messages).length)
  t.ok(Math.min(...lengths) < 250 && Math.max(...lengths) > 4000, `${Math.min(...lengths)} to ${Math.max(...lengths)}`)
  t.equal(new Set(received.map(({ request }) => request.model)).size, 4)
  t.ok(new Set(received.map(({ request }) => JSON.stringify(request))).size > 70)
})

t.test('it continues if no model qualifies, and stops at any other error', async t => {
  const refusing = await warmUpWith(3, () => { throw GatewayError.modelNotFound('auto') })
  t.equal(refusing.received.length, 3)
  t.strictSame(refusing.errors, [])
  t.equal(refusing.warmings, 1)
  const failing = await warmUpWith(3, () => { throw new Error('broken') })
  t.equal(failing.received.length, 1)
  t.match(failing.errors, [{ message: 'broken' }])
  t.equal(failing.warmings, 0)
})

t.test('it can be stopped before it starts', async t => {
  let made = 0
  const decide: Router['decide'] = routing => {
    made++
    return router.decide(routing)
  }
  await warmUpRouter({ decide }, { ...soon, onError: error => t.error(error) }).stop()
  await new Promise(resolve => { setTimeout(resolve, 20) })
  t.equal(made, 0)
})
