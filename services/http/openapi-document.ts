type Json = Record<string, unknown>

interface Operation extends Json {
  responses: Record<string, { description?: string, content?: Json }>
}

/** An OpenAPI 3.1 document, as far as it is worked with here. Its paths are as clients see them. */
export interface OpenApiDocument extends Json {
  paths: Record<string, Record<string, Operation>>
}

/** What a route says beyond the fields that OpenAPI has. */
interface Route { url: string, schema: { events?: unknown } }

const description = `An OpenAI-compatible gateway: point an OpenAI client at \`/v1\` of this server and use a key of
Tollgate's. Errors have OpenAI's shape. Every response says in \`x-request-id\` how to find it in the log.`

const tags = [
  { name: 'Models', description: 'Chat, text, images and what is on offer.' },
  { name: 'Billing', description: 'What a key and its account have and have used.' },
  { name: 'Administration', description: 'Keys, accounts and books; for admin keys alone.' },
  { name: 'Operations', description: 'Whether this node works.' }
]

const securitySchemes = {
  key: { type: 'http', scheme: 'bearer', description: 'A key of an account: `sk-tg-…`.' },
  adminKey: { type: 'http', scheme: 'bearer', description: 'An admin key, or the one in `TOLLGATE_ADMIN_KEY`.' }
}

/**
 * Adds to a generated document what the schemas of routes do not tell: who may call an operation, how it is
 * called and grouped, and that an answer may be a stream.
 */
export function finishDocument (generated: object, routes: readonly Route[]): OpenApiDocument {
  const document = generated as OpenApiDocument
  const events = new Map(routes.map(({ url, schema }) => [url, schema.events]))
  for (const [path, operations] of Object.entries(document.paths)) {
    const streamed = events.get(path)
    for (const [method, operation] of Object.entries(operations)) {
      operations[method] = finishOperation(operation, method, path)
      if (streamed !== undefined) addStream(operation.responses, streamed)
    }
  }
  return {
    ...document,
    info: { ...document.info as Json, description, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    // Relative to where the document was fetched from, so that it holds behind any proxy.
    servers: [{ url: '.' }],
    tags,
    components: { ...document.components as Json, securitySchemes }
  }
}

/** An exact decimal as clients see it: a number, or null where the schema allows that. */
export function toOpenApi (schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null || !('format' in schema) || schema.format !== 'decimal') return schema
  const { nullable, ...rest } = { nullable: false, ...schema }
  return { type: nullable ? ['number', 'null'] : 'number', ...rest }
}

function finishOperation (operation: Operation, method: string, path: string): Operation {
  for (const response of Object.values(operation.responses)) {
    if (response.description === 'Default Response') response.description = 'What was asked for.'
  }
  for (const [status, said] of [['4XX', 'The request cannot be served as it is.'], ['5XX', 'It could not be served now.']]) {
    const response = operation.responses[status!]
    if (response !== undefined) response.description = said
  }
  return { operationId: nameOf(method, path), tags: [tagOf(path)], ...operation, security: securityOf(path) }
}

/** E.g. `getAdminKeysId` for `GET /admin/keys/{id}`. */
function nameOf (method: string, path: string): string {
  const words = path.replace(/^\/v1\//, '/').split(/[^a-z0-9]+/i).filter(word => word !== '')
  return [method, ...words.map(word => word.charAt(0).toUpperCase() + word.slice(1))].join('')
}

function tagOf (path: string): string {
  if (path.startsWith('/admin/')) return 'Administration'
  if (path.startsWith('/v1/dashboard/')) return 'Billing'
  return path.startsWith('/v1/') ? 'Models' : 'Operations'
}

function securityOf (path: string): Record<string, string[]>[] {
  if (path.startsWith('/admin/')) return [{ adminKey: [] }]
  const needsKey = path.startsWith('/v1/') && !path.startsWith('/v1/media/')
  return needsKey ? [{ key: [] }] : []
}

/** OpenAPI 3.1 has no schema for streams: the text is described, and what its events hold beside it. */
function addStream (responses: Operation['responses'], events: unknown): void {
  const content = responses['200']?.content
  if (content === undefined) return
  content['text/event-stream'] = {
    schema: {
      type: 'string',
      description: 'Server-sent events, each `data: ` and JSON of `x-events`; the last one is `data: [DONE]`.',
      'x-events': JSON.parse(JSON.stringify(events))
    }
  }
}
