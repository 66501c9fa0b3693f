// A local provider that answers like api.openai.com unless a script changes that.

export * from './upstream/completions.ts'
export * from './upstream/cuts.ts'
export * from './upstream/exchange.ts'
export * from './upstream/replies.ts'
export * from './upstream/scripts.ts'
export * from './upstream/server.ts'
export * from './upstream/steps.ts'
