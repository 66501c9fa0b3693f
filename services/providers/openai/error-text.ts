import { isObject, type JsonObject } from '../../shared/json.ts'

/**
 * What an error object says, null when it says nothing: `message`, `detail` as text or as a list of the
 * fields that are wrong, either of them within `message`; and what the provider behind a router has said.
 */
export function errorText (error: JsonObject): string | null {
  const { message, detail, metadata } = error
  const said = isObject(message) ? errorText(message) : textOf(message) ?? detailText(detail)
  const behind = isObject(metadata) ? textOf(metadata.raw) : null
  return behind === null || behind === said ? said : `${said ?? 'The provider failed.'} ${behind}`
}

/** The list is that of FastAPI: `[{loc: ['body', 'top_p'], msg}]`. */
function detailText (detail: unknown): string | null {
  if (!Array.isArray(detail)) return textOf(detail)
  const lines = detail.filter(isObject).map(({ loc, msg }) =>
    `${Array.isArray(loc) ? loc.join('.') : ''}: ${textOf(msg) ?? ''}`)
  return lines.length === 0 ? null : lines.join('; ')
}

function textOf (value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
