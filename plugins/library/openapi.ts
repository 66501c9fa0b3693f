import swagger from '@fastify/swagger'
import fp from 'fastify-plugin'
import { toComponents } from '../../services/http/openapi-components.ts'
import { documentOptions, toOperation } from '../../services/http/openapi-document.ts'

/** Describes the routes registered after it as OpenAPI 3.1, on the first call of `app.swagger()`. */
export default fp<{ version: string }>(async (app, { version }) => {
  await app.register(swagger, {
    openapi: documentOptions(version),
    transform: ({ url, ...route }) => toOperation({ ...route, url: url.slice(app.prefix.length) }),
    transformObject: document => 'openapiObject' in document ? toComponents(document.openapiObject) : {},
    // The paths are below the gateway's prefix, as is `servers`, which is relative.
    stripBasePath: false
  })
}, { name: 'openapi' })
