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
      summary: 'A video has been completed or has failed',
      description: 'Sent to the `webhook_url` of the video until it is acknowledged.',
      security: [],
      parameters: [
        webhookHeader('webhook-id', 'The same in all attempts; use it to drop duplicates.'),
        webhookHeader('webhook-timestamp', 'Unix seconds of the attempt.'),
        webhookHeader('webhook-signature', '`v1,` and the HMAC-SHA256 of id, timestamp and body, joined by dots; two of them, ' +
          'separated by a space, while the secret is replaced.')
      ],
      requestBody: { required: true, content: { 'application/json': { schema: { title: 'VideoEvent', ...VideoEvent } } } },
      responses: { '2XX': { description: 'Acknowledged. After any other status, including redirects, the message is sent again.' } }
    }
  }
}

function webhookHeader (name: string, description: string) {
  return { name, in: 'header', required: true, description, schema: { type: 'string' as const } }
}

const contact = { name: 'The operator of this server' }

const description = `An OpenAI-compatible gateway: point an OpenAI client at \`/v1\` of this server and use a key of
Tollgate's. Errors have OpenAI's shape. The \`x-request-id\` of a response identifies its request in the log.`

const tags = [
  { name: 'Models', description: 'Chat, text, images and the available models.' },
  { name: 'Billing', description: 'The balance and usage of a key and its account.' },
  { name: 'Administration', description: 'Keys, accounts and books; only for admin keys.' },
  { name: 'Console', description: 'Sessions of the operator console, in a cookie.' },
  { name: 'Operations', description: 'The health of this node.' }
]

const securitySchemes = {
  key: { type: 'http', scheme: 'bearer', description: 'A key of an account: `sk-tg-…`.' },
  apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'The same key, in the header of Anthropic\'s clients.' },
  adminKey: { type: 'http', scheme: 'bearer', description: 'An admin key, or the one in `TOLLGATE_ADMIN_KEY`; its role decides what it may do.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'tollgate_session',
    description: 'A session of the console instead of a key: `POST /console/session`. Its name begins with `__Host-` if ' +
      'the browser uses HTTPS. Changes, and all requests to `/v1`, need its `csrf_token` in `x-csrf-token`.'
  }
} as const

/** The schema and URL of a route in the form of OpenAPI 3.1; a route without a summary is hidden. */
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

/** A body that may also be a form is described for both types. */
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
 * A copy with names that the library may change. An exact decimal has the type that clients see, and objects
 * have no examples, which are components.
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
  '4xx': 'The request is invalid or not allowed.', '5xx': 'The gateway or the provider failed.'
}

/** Tollgate's headers of chat responses, streamed or not. */
const responseHeaders: Readonly<Record<string, Json>> = {
  'x-tollgate-model': { type: 'string', description: 'The model that ran.' },
  'x-tollgate-provider': { type: 'string', description: 'Its provider.' },
  'x-tollgate-upstream-model': { type: 'string', description: 'Its name at the provider.' },
  'x-tollgate-attempts': { type: 'integer', description: 'The number of provider calls.' },
  'x-tollgate-max-tokens': {
    type: 'integer',
    description: 'The output limit in tokens that the gateway has set because the request had none or a higher one ' +
      'than the model. A response cut at it has the `finish_reason` `length`.'
  },
  'x-tollgate-cost': { type: 'string', description: 'Cost in US dollars; absent from streams.' },
  'x-tollgate-dropped-params': {
    type: 'string', description: 'Dropped parameters, which the provider does not support.'
  },
  'x-tollgate-route': {
    type: 'string',
    description: 'The decision of `auto`, a dictionary as in RFC 9651: policy, model, reason, expected quality from 0 to 1, expected ' +
      'cost in US dollars, the best model of the pool, the saving against it, confidence and domain.'
  }
}

/** OpenAPI 3.1 has no schema for streams: this describes the text, and `x-events` the data of its events. */
function describeResponses (
  responses: Record<string, Json>, events: object | undefined
): Record<string, Json> {
  const described = Object.entries(responses).map(([status, schema]) => {
    const description = schema['description'] ?? descriptions[status] ?? 'Success.'
    return [status, { 'x-response-description': description, ...schema }] as const
  })
  const all = Object.fromEntries(described)
  if (events === undefined) return all
  const whole = { schema: responses['200'] }
  const content = { 'application/json': whole, 'text/event-stream': { schema: streamOf(events) } }
  return { ...all, 200: { description: 'The response, or a stream of its parts.', headers: responseHeaders, content } }
}

function streamOf (events: object): Json {
  return {
    type: 'string',
    description: 'Server-sent events with JSON as in `x-events`; streams of completions end with `data: [DONE]`.',
    'x-events': copyOf(events)
  }
}
