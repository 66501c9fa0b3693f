import cors from '@fastify/cors'
import fp from 'fastify-plugin'

interface CorsOptions {
  /** Origins such as `https://app.example.com`, or only `*` for any; empty for none. */
  origins: readonly string[]
}

/** The response headers that a page may read. */
const exposedHeaders = [
  'x-request-id', 'request-id', 'retry-after', 'retry-after-ms', 'x-should-retry', 'x-tollgate-model',
  'x-tollgate-provider', 'x-tollgate-upstream-model', 'x-tollgate-attempts', 'x-tollgate-plugins', 'x-tollgate-route',
  'x-tollgate-cost', 'x-tollgate-cache', 'x-tollgate-job-id', 'x-tollgate-max-tokens', 'x-tollgate-dropped-params',
  'x-ratelimit-limit-requests', 'x-ratelimit-limit-tokens', 'x-ratelimit-remaining-requests', 'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-requests', 'x-ratelimit-reset-tokens'
]

/**
 * Lets pages of the listed origins call the API, without credentials: the page sends its key in a header,
 * never the browser.
 */
export default fp<CorsOptions>(async (app, { origins }) => {
  if (origins.length === 0) return
  await app.register(cors, {
    origin: origins.includes('*') ? '*' : [...origins],
    credentials: false,
    methods: ['GET', 'HEAD', 'POST', 'DELETE'],
    exposedHeaders,
    maxAge: 3600,
    strictPreflight: false
  })
}, { name: 'cors', dependencies: ['http-rules'] })
