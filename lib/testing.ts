export * from './testing/steps.ts'
export { testGateway } from './testing/test-gateway.ts'
export type {
  ClientOptions, ScriptedModel, ScriptedRequest, TestGateway, TestGatewayOptions
} from './testing/types.ts'
export { useTollgate } from './testing/use-tollgate.ts'
export type { TestHooks } from './testing/use-tollgate.ts'
