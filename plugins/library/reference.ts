import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import fp from 'fastify-plugin'
import Fastify from 'fastify'

/** The page that shows the OpenAPI document, and its script of several megabytes, compressed with gzip. */
export interface Reference { html: string, packedScript: Buffer }

declare module 'fastify' {
  interface FastifyInstance {
    /** Makes the reference page, which all gateways of a process share. */
    reference (): Promise<Reference>
  }
}

const configuration = {
  pageTitle: 'Tollgate',
  url: '../openapi.json',
  // Shows a field for the key without a choice of schemes.
  authentication: { preferredSecurityScheme: 'key' },
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true }
} as const

let made: Promise<Reference> | null = null

/** Provides the reference page, whose library is loaded on first use; see docs/performance.md. */
export default fp(async app => {
  app.decorate('reference', async () => {
    made ??= make().catch((error: unknown) => {
      made = null
      throw error
    })
    return await made
  })
}, { name: 'reference' })

async function make (): Promise<Reference> {
  const { default: reference } = await import('@scalar/fastify-api-reference')
  const pages = Fastify()
  try {
    await pages.register(reference, { routePrefix: '/', configuration })
    const [page, script] = await Promise.all([pages.inject('/'), pages.inject('/js/scalar.js')])
    return { html: page.payload, packedScript: await promisify(gzip)(script.rawPayload) }
  } finally {
    await pages.close()
  }
}
