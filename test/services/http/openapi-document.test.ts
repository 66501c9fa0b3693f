import { Validator } from '@seriousme/openapi-schema-validator'
import { Type } from '@sinclair/typebox'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { buildGateway } from '../../helpers/gateway.ts'
import { inlined } from '../../openapi/inline.ts'

interface Content {
  schema: object
  example?: unknown
  examples?: Record<string, { value?: unknown, $ref?: string }>
}

interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object>, examples: Record<string, { value: unknown }> }
}

interface Operation {
  operationId: string
  summary: string
  security: object[]
  requestBody?: { content: Record<string, Content> }
  responses: Record<string, { content?: Record<string, Content> }>
  [field: string]: unknown
}

const { app, headers } = await buildGateway(t)
const served = await app.inject({ url: '/openapi.json' })
const lenient = new Ajv2020({ strict: false, validateFormats: false, discriminator: true })

t.test('the document is OpenAPI 3.1, and every schema in it is JSON Schema 2020-12', async t => {
  t.equal(served.statusCode, 200)
  const document = served.json()
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
  const { paths, webhooks } = inlined(served.json<Document & { webhooks: object }>())
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
  const { paths, components } = served.json<Document>()
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
  const { paths } = inlined(served.json<Document>())
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { requestBody }] of Object.entries(operations)) {
      for (const [type, { schema, example }] of Object.entries(requestBody?.content ?? {})) {
        t.ok(lenient.validate(schema, example), `${method} ${path}: ${JSON.stringify(lenient.errors)}`)
        const isOwn = type === 'application/json' && path.startsWith('/v1/')
        if (!isOwn) continue
        const answer = await app.inject({ method: 'POST', url: path, headers, payload: JSON.stringify(example) })
        t.equal(answer.statusCode, 200, `${path}: ${answer.body.slice(0, 200)}`)
      }
    }
  }
})

t.test('each JSON answer and error has one example that its schema allows', async t => {
  const { paths, components } = served.json<Document>()
  const errors = new Set<string>()
  let answers = 0
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { responses }] of Object.entries(operations)) {
      for (const [status, { content = {} }] of Object.entries(responses)) {
        const json = content['application/json']
        if (json === undefined) continue
        t.same(whatIsWrongWith(json, components), [], `${method} ${path} ${status}`)
        if (status.endsWith('XX')) for (const { $ref = '' } of Object.values(json.examples ?? {})) errors.add($ref)
        answers++
      }
    }
  }
  t.ok(answers > 150)
  t.same([...errors].sort(), ['#/components/examples/ErrorResponse', '#/components/examples/MessagesError'])
})

t.test('the answer of a new route without examples is found', async t => {
  const response = { 200: Type.Object({ colour: Type.String() }) }
  const { app } = await buildGateway(t, {
    beforeReady: app => app.register(async scope => {
      scope.get('/admin/colours', { schema: { summary: 'Colours', response } as object }, async () => ({ colour: 'red' }))
    })
  })
  const { paths, components } = (await app.inject({ url: '/openapi.json' })).json<Document>()
  const json = paths['/admin/colours']?.['get']?.responses['200']?.content?.['application/json'] as Content
  t.match(whatIsWrongWith(json, components), ['it has no name, or no example'])
  const incomplete = { ...json, examples: { Colour: { value: {} } } }
  t.match(whatIsWrongWith(incomplete, components), [/must have required property 'colour'/])
})

t.test('a body that may be a form has a schema of its own for it, and forms that follow it are taken', async t => {
  const { paths } = inlined(served.json<Document>())
  const takers = Object.entries(paths).filter(([, { post }]) => {
    return post?.requestBody?.content['multipart/form-data'] !== undefined
  })
  t.same(takers.map(([path]) => path), ['/v1/videos'])
  const content = paths['/v1/videos']?.['post']?.requestBody?.content ?? {}
  const { 'multipart/form-data': multipart, 'application/json': json } = content
  t.match(multipart?.schema, { properties: { input_reference: { type: 'string', format: 'binary' } } })
  t.match(json?.schema, { properties: { input_reference: { type: ['string', 'object'] } } })
  t.same(Object.keys(propertiesOf(multipart)), Object.keys(propertiesOf(json)))

  const form = new FormData()
  const fields = multipart?.example as Record<string, string>
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  form.set('metadata[team]', 'search')
  form.set('input_reference', new Blob([png], { type: 'image/png' }), 'pier.png')
  const request = new Request('http://localhost', { method: 'POST', body: form })
  const answer = await app.inject({
    method: 'POST',
    url: '/v1/videos',
    headers: { authorization: headers.authorization, 'content-type': request.headers.get('content-type') ?? '' },
    payload: Buffer.from(await request.arrayBuffer())
  })
  t.equal(answer.statusCode, 200, answer.body)
})

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')

function propertiesOf (content: Content | undefined): object {
  return (content?.schema as { properties?: object } | undefined)?.properties ?? {}
}

/** Answers that are the same are validated once. */
const verdicts = new Map<string, string[]>()

/** Why the examples of an answer are none, by its schema; empty if it has one. */
function whatIsWrongWith (answer: Content, components: Document['components']): string[] {
  const text = JSON.stringify(answer)
  const known = verdicts.get(text)
  if (known !== undefined) return known
  const { schema, examples = {} } = inlined({ components, answer }).answer
  const [example, ...others] = Object.values(examples)
  const wrong = []
  if (example === undefined) wrong.push('it has no name, or no example')
  else if (!lenient.validate(schema, example.value)) wrong.push(lenient.errorsText())
  if (others.length > 0) wrong.push('it has more than one')
  verdicts.set(text, wrong)
  return wrong
}

/** All that stands under the key `schema`, wherever. */
function schemasIn (value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, child]) => key === 'schema' ? [child] : schemasIn(child))
}
