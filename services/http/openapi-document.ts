import { requestExamples } from '../../schemas/examples.ts'
import { VideoEvent } from '../../schemas/openai/webhooks.ts'
import { markNames } from './openapi-components.ts'

type Json = Record<string, unknown>

interface DocumentedRoute {
  schema: { summary?: string } | undefined
  url: string
  route: { method: string | string[], config?: { events?: object, form?: object } }
}

/** The parts of the OpenAPI document that no route describes. */
export function documentOptions (version: string) {
  return {
    openapi: '3.1.0',
    info: { title: 'Tollgate', version, description, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' }, contact },
    // Relative to where the document was fetched from, so that it holds behind any proxy.
    servers: [{ url: '.' }],
    tags,
    webhooks,
    components: { securitySchemes }
  }
}

/** What the gateway sends to the `webhook_url` of a video. Source: Standard Webhooks. */
const webhooks = {
  video: {
    post: {
      operationId: 'videoWebhook',
      tags: ['Models'],
      summary: 'A video is completed or has failed',
      description: 'Sent to the `webhook_url` of the video until it is received.',
      security: [],
      parameters: [
        webhookHeader('webhook-id', 'The same in all attempts: what was received twice is one message.'),
        webhookHeader('webhook-timestamp', 'Unix seconds of the attempt.'),
        webhookHeader('webhook-signature', '`v1,` and the HMAC-SHA256 of id, timestamp and body, joined by dots; two of them, ' +
          'separated by a space, while the secret is replaced.')
      ],
      requestBody: { required: true, content: { 'application/json': { schema: { title: 'VideoEvent', ...VideoEvent } } } },
      responses: { '2XX': { description: 'Received. Any other status is a failure, also a redirect: the message is sent again.' } }
    }
  }
}

function webhookHeader (name: string, description: string) {
  return { name, in: 'header', required: true, description, schema: { type: 'string' as const } }
}

const contact = { name: 'The operator of this server' }

const description = `An OpenAI-compatible gateway: point an OpenAI client at \`/v1\` of this server and use a key of
Tollgate's. Errors have OpenAI's shape. Every response says in \`x-request-id\` how to find it in the log.`

const tags = [
  { name: 'Models', description: 'Chat, text, images and what is on offer.' },
  { name: 'Billing', description: 'What a key and its account have and have used.' },
  { name: 'Administration', description: 'Keys, accounts and books; for admin keys alone.' },
  { name: 'Console', description: 'Sessions of the operator console, which a browser carries in a cookie.' },
  { name: 'Operations', description: 'Whether this node works.' }
]

const securitySchemes = {
  key: { type: 'http', scheme: 'bearer', description: 'A key of an account: `sk-tg-…`.' },
  apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'The same key, as Anthropic\'s clients send it.' },
  adminKey: { type: 'http', scheme: 'bearer', description: 'An admin key, or the one in `TOLLGATE_ADMIN_KEY`; its role decides what it may do.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'tollgate_session',
    description: 'A session of the console, in place of a key: `POST /console/session`. Its name begins with `__Host-` where ' +
      'the browser uses https. Requests that change something, and all to `/v1`, need its `csrf_token` in `x-csrf-token`.'
  }
} as const

/** The schema and URL of a route as OpenAPI 3.1 has them; a route without a summary is hidden. */
export function toOperation ({ schema, url, route }: DocumentedRoute): { schema: Json, url: string } {
  if (schema?.summary === undefined) return { schema: { hide: true }, url }
  const { tags = ['Operations'], security = [], response, params, body, ...rest } = copyOf(schema)
  const path = url.replace('*', ':id')
  const method = [route.method].flat()[0]?.toLowerCase() ?? ''
  const operationId = operationIdOf(method, path)
  const operation = {
    operationId,
    tags,
    security,
    ...rest,
    ...(params !== undefined && { params: namedRest(params as Json) }),
    ...(body !== undefined && { body: describeBody(body as Json, operationId, route.config?.form) }),
    response: describeResponses(response as Record<string, Json>, route.config?.events)
  }
  return { schema: operation, url: path }
}

/** A body that may also be a form is described once for each of the two types. */
function describeBody (body: Json, operationId: string, form: object | undefined): Json {
  const example = requestExamples[operationId]
  const examples = example === undefined ? [] : [example]
  if (form === undefined) return { ...body, examples }
  return {
    content: {
      'application/json': { schema: { ...body, examples } },
      'multipart/form-data': { schema: { ...copyOf(form), examples } }
    }
  }
}

/**
 * A copy that the library may change, with names; in it an exact decimal has the type that clients see, and
 * objects have no examples, which are components.
 */
function copyOf (schema: object): Json {
  return JSON.parse(JSON.stringify(markNames(schema)), (_key, value) => {
    if (value?.properties !== undefined) {
      const { examples: _examples, ...rest } = value
      return rest
    }
    if (value?.format !== 'decimal') return value
    const { nullable, ...rest } = value
    return { type: nullable === true ? ['number', 'null'] : 'number', ...rest }
  })
}

/** E.g. `getAdminKeysId` for `GET /admin/keys/:id`. */
function operationIdOf (method: string, path: string): string {
  const words = path.replace(/^\/v1\//, '/').split(/[^a-z0-9]+/i).filter(word => word !== '')
  return [method, ...words.map(word => word.charAt(0).toUpperCase() + word.slice(1))].join('')
}

/** OpenAPI has no wildcards: the rest of a path is its `id`. */
function namedRest ({ properties, required, ...rest }: Json): Json {
  const { '*': id } = properties as Json
  return id === undefined ? { ...rest, properties, required } : { ...rest, properties: { id }, required: ['id'] }
}

const descriptions: Readonly<Record<string, string>> = {
  '4xx': 'The request cannot be served as it is.', '5xx': 'It could not be served now.'
}

/** The headers of chat answers, whole or streamed, beside OpenAI's own. */
const responseHeaders: Readonly<Record<string, Json>> = {
  'x-tollgate-model': { type: 'string', description: 'The model that ran.' },
  'x-tollgate-provider': { type: 'string', description: 'Its provider.' },
  'x-tollgate-upstream-model': { type: 'string', description: 'Its name at the provider.' },
  'x-tollgate-attempts': { type: 'integer', description: 'The number of provider calls.' },
  'x-tollgate-max-tokens': {
    type: 'integer',
    description: 'The output limit in tokens that the gateway has set, if the request had none or a higher one ' +
      'than the model. An answer that is cut there ends with the `finish_reason` `length`.'
  },
  'x-tollgate-cost': { type: 'string', description: 'Cost in US dollars; of whole answers only.' },
  'x-tollgate-dropped-params': {
    type: 'string', description: 'Parameters that the provider does not support and that were dropped.'
  },
  'x-tollgate-route': {
    type: 'string',
    description: 'The decision of `auto`, a dictionary of RFC 9651: policy, model, reason, expected quality from 0 to 1, expected ' +
      'cost in US dollars, the best model of the pool, what is saved against it, confidence and domain.'
  }
}

/** OpenAPI 3.1 has no schema for streams: the text is described, and what its events hold beside it. */
function describeResponses (
  responses: Record<string, Json>, events: object | undefined
): Record<string, Json> {
  const described = Object.entries(responses).map(([status, schema]) => {
    const description = schema['description'] ?? descriptions[status] ?? 'What was asked for.'
    return [status, { 'x-response-description': description, ...schema }] as const
  })
  const all = Object.fromEntries(described)
  if (events === undefined) return all
  const whole = { schema: responses['200'] }
  const content = { 'application/json': whole, 'text/event-stream': { schema: streamOf(events) } }
  return { ...all, 200: { description: 'The answer, or a stream of its parts.', headers: responseHeaders, content } }
}

function streamOf (events: object): Json {
  return {
    type: 'string',
    description: 'Server-sent events with JSON of `x-events` as their data; those of completions end with `data: [DONE]`.',
    'x-events': copyOf(events)
  }
}
