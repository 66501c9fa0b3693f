import Fastify, { type FastifySchema } from 'fastify'
import fp from 'fastify-plugin'
import { finishDocument, toOpenApi, type OpenApiDocument } from '../../services/http/openapi-document.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The OpenAPI 3.1 document of this server: every route that has a summary. Made on the first call. */
    openApi (): Promise<OpenApiDocument>
  }

  interface FastifySchema {
    /** What each event of the answer holds when the client asks for a stream. */
    events?: unknown
  }
}

interface Documented { method: string[], url: string, schema: FastifySchema }

/**
 * Remembers the schemas of the routes; registered before them. The document is made of these by a second
 * server that never listens, so that a start does not pay for a page that few will read.
 */
export default fp<{ version: string }>(async (app, { version }) => {
  const routes: Documented[] = []
  app.addHook('onRoute', ({ method, url, schema }) => {
    const methods = [method].flat().filter(name => name !== 'HEAD')
    if (schema?.summary !== undefined && methods.length > 0) routes.push({ method: methods, url, schema })
  })

  let document: Promise<OpenApiDocument> | undefined
  app.decorate('openApi', () => {
    document ??= describe(routes, version)
    return document
  })
}, { name: 'openapi' })

async function describe (routes: readonly Documented[], version: string): Promise<OpenApiDocument> {
  const { default: swagger } = await import('@fastify/swagger')
  const scribe = Fastify({ exposeHeadRoutes: false })
  scribe.setValidatorCompiler(() => () => true).setSerializerCompiler(() => String)
  await scribe.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'Tollgate', version } } })
  await scribe.register(async scope => {
    for (const { method, url, schema } of routes) {
      scope.route({ method, url: url.replace('*', ':id'), schema: copyOf(schema), handler: async () => '' })
    }
  })
  await scribe.ready()
  const document = finishDocument(scribe.swagger(), routes)
  await scribe.close()
  return document
}

/** The library changes what it is given. The rest of a path, which OpenAPI has no word for, is its `id`. */
function copyOf ({ events, ...schema }: FastifySchema): FastifySchema {
  const copy = JSON.parse(JSON.stringify(schema), (_key, value) => toOpenApi(value))
  const { properties, required } = copy.params ?? {}
  if (properties?.['*'] === undefined) return copy
  return { ...copy, params: { ...copy.params, properties: { id: properties['*'] }, required: required && ['id'] } }
}
