import { parentPort } from 'node:worker_threads'
import { gzipSync } from 'node:zlib'
import reference from '@scalar/fastify-api-reference'
import Fastify from 'fastify'
import type { Reference } from './reference.ts'

// Runs in a thread of its own, once: see reference.ts.

const app = Fastify()
await app.register(reference, {
  routePrefix: '/docs',
  configuration: {
    pageTitle: 'Tollgate',
    // Everything is relative to `/docs`, wherever a proxy puts that; nothing comes from elsewhere.
    url: 'openapi.json',
    cdn: 'docs/reference.js',
    // A field for the key is there without a choice of what it is for.
    authentication: { preferredSecurityScheme: 'key' },
    withDefaultFonts: false,
    telemetry: false,
    hideClientButton: true,
    showDeveloperTools: 'never',
    agent: { disabled: true },
    mcp: { disabled: true }
  }
})
const [page, script] = await Promise.all(['/docs/', '/docs/js/scalar.js'].map(url => app.inject({ url })))
const made: Reference = { page: page?.body ?? '', script: gzipSync(script?.rawPayload ?? '') }
parentPort?.postMessage(made)
