import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { buildGateway } from '../../helper.ts'
import { inlined } from '../../openapi/inline.ts'

interface Content { schema: object, example?: unknown }

interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object> }
}

interface Operation {
  operationId: string
  summary: string
  security: object[]
  requestBody?: { content: Record<string, Content> }
  [field: string]: unknown
}

t.test('the document is OpenAPI 3.1, and every schema in it is JSON Schema 2020-12', async t => {
  const { app } = await buildGateway(t)
  const answer = await app.inject({ url: '/openapi.json' })
  t.equal(answer.statusCode, 200)
  const document = answer.json()
  t.match(document.openapi, /^3\.1\./)
  const result = await new Validator().validate(document)
  t.strictSame(result.errors ?? [], [])
  t.ok(result.valid)

  const ajv = new Ajv2020({ strict: true, strictTypes: false, discriminator: true })
  ajv.addVocabulary(['example', 'x-events'])
  ajv.addFormat('binary', true)
  ajv.addFormat('decimal', true)
  const { paths, webhooks } = inlined(document)
  for (const schema of schemasIn([paths, webhooks])) t.ok(ajv.validateSchema(schema))
})

t.test('every route with a method and a summary is in it once, with who may call it', async t => {
  const { app } = await buildGateway(t)
  const document = (await app.inject({ url: '/openapi.json' })).json<Document>()
  const { paths } = inlined(document)
  const operations = Object.entries(paths).flatMap(([path, methods]) => {
    return Object.entries(methods).map(([method, operation]) => ({ path, method, operation }))
  })
  const ids = operations.map(({ operation }) => operation['operationId'])
  t.equal(new Set(ids).size, ids.length, 'operation ids are unique')
  for (const { path, method, operation } of operations) {
    t.type(operation['summary'], 'string', `${method} ${path}`)
    t.type(operation['description'], 'string', `${method} ${path}`)
    const [scheme = {}] = operation['security'] as object[]
    if (path.startsWith('/admin/')) t.hasProp(scheme, 'adminKey', path)
    else if (path.startsWith('/v1/') && !path.startsWith('/v1/media/')) t.hasProp(scheme, 'key', path)
  }
  t.match(paths['/v1/models/{id}'], { get: { parameters: [{ name: 'id', in: 'path', required: true }] } })
  t.match(paths['/v1/chat/completions'], {
    post: {
      responses: {
        200: {
          headers: { 'x-tollgate-max-tokens': { schema: { type: 'integer' }, description: /output limit/ } },
          content: { 'application/json': {}, 'text/event-stream': {} }
        }
      }
    }
  })
  const cost = { properties: { cost_usd: { type: ['number', 'null'], format: 'decimal' } } }
  t.match(paths['/admin/jobs/{id}'], { get: { responses: { 200: { content: { 'application/json': { schema: cost } } } } } })
  const { webhooks } = inlined((await app.inject({ url: '/openapi.json' })).json())
  t.match(webhooks, {
    video: {
      post: {
        parameters: [{ name: 'webhook-id' }, { name: 'webhook-timestamp' }, { name: 'webhook-signature' }],
        requestBody: { content: { 'application/json': { schema: { properties: { type: { enum: ['video.completed', 'video.failed'] } } } } } }
      }
    }
  })
  t.notOk('/v1/embeddings' in paths, 'what is not served is not described')
})

t.test('schemas are components with the names of the code, and the branches of unions too', async t => {
  const { app } = await buildGateway(t)
  const { paths, components } = (await app.inject({ url: '/openapi.json' })).json<Document>()
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
  t.same(paths['/v1/chat/completions']?.['post']?.requestBody?.content['application/json']?.schema, ref('ChatCompletionRequest'))
  t.match(components.schemas['ChatMessage'], {
    discriminator: { propertyName: 'role', mapping: { user: ref('UserMessage').$ref, system: ref('SystemMessage').$ref } },
    oneOf: [ref('SystemMessage'), ref('UserMessage')]
  })
  for (const [name, schema] of Object.entries(components.schemas)) {
    t.match(name, /^[A-Z][A-Za-z0-9]*[A-Za-z]$|Base64$/, 'no name is used for two schemas')
    for (const [, used = ''] of JSON.stringify(schema).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) t.hasProp(components.schemas, used)
  }
})

t.test('each body has an example that its schema allows, and those of a new gateway\'s models are answered', async t => {
  const { app, headers } = await buildGateway(t)
  const { paths } = inlined((await app.inject({ url: '/openapi.json' })).json<Document>())
  const ajv = new Ajv2020({ strict: false, validateFormats: false, discriminator: true })
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { requestBody }] of Object.entries(operations)) {
      for (const { schema, example } of Object.values(requestBody?.content ?? {})) {
        t.ok(ajv.validate(schema, example), `${method} ${path}: ${JSON.stringify(ajv.errors)}`)
        const isOwn = path.startsWith('/v1/') && path !== '/v1/routing/feedback'
        if (!isOwn) continue
        const answer = await app.inject({ method: 'POST', url: path, headers, payload: JSON.stringify(example) })
        t.equal(answer.statusCode, 200, `${path}: ${answer.body.slice(0, 200)}`)
      }
    }
  }
})

/** All that stands under the key `schema`, wherever. */
function schemasIn (value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, child]) => key === 'schema' ? [child] : schemasIn(child))
}
