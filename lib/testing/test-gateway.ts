import { loadGateway } from '../load.ts'
import type { TestGateway, TestGatewayOptions } from './types.ts'

/** Starts a gateway whose providers play scripts: `await using gateway = await testGateway()`. */
export async function testGateway (options: TestGatewayOptions = {}): Promise<TestGateway> {
  await loadGateway()
  const { startTestGateway } = await import('./start.ts')
  return await startTestGateway(options)
}
