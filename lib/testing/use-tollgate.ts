import { testGateway } from './test-gateway.ts'
import type { TestGateway, TestGatewayOptions } from './types.ts'

/** The hooks of a test runner: those of `node:test`, Vitest and Jest, or the `t` of tap. */
export interface TestHooks {
  beforeEach (hook: () => Promise<void>): unknown
  afterEach (hook: () => Promise<void>): unknown
}

/**
 * Starts a gateway for each test and returns a function that returns it. `hooks` are by default the global
 * ones of Jest, or of Vitest with `globals`. Throws an Error if there are none.
 */
export function useTollgate (
  options: TestGatewayOptions = {}, hooks: TestHooks = globalHooks()
): () => TestGateway {
  let gateway: TestGateway | null = null
  hooks.beforeEach(async () => { gateway = await testGateway(options) })
  hooks.afterEach(async () => {
    const ended = gateway
    gateway = null
    await ended?.close()
  })
  return () => {
    if (gateway === null) throw new Error('The gateway of useTollgate exists only while a test runs.')
    return gateway
  }
}

function globalHooks (): TestHooks {
  const { beforeEach, afterEach }: Partial<TestHooks> = globalThis as object
  if (beforeEach !== undefined && afterEach !== undefined) return { beforeEach, afterEach }
  throw new Error('There are no global hooks: call useTollgate(options, { beforeEach, afterEach }) with those of ' +
    'the test runner.')
}
