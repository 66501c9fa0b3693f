import swagger from '@fastify/swagger'
import fp from 'fastify-plugin'
import { toComponents } from '../../services/http/openapi-components.ts'
import { documentOptions, toOperation } from '../../services/http/openapi-document.ts'

/** Describes the routes that are registered later as OpenAPI 3.1; made by the first `app.swagger()`. */
export default fp<{ version: string }>(async (app, { version }) => {
  await app.register(swagger, {
    openapi: documentOptions(version),
    transform: toOperation,
    transformObject: document => 'openapiObject' in document ? toComponents(document.openapiObject) : {},
    // The paths are complete, and `servers` is relative.
    stripBasePath: false
  })
}, { name: 'openapi' })
