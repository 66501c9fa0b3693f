import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { wrongCredentials } from './request-token.ts'

/**
 * Returns Google's credentials: `source` is their JSON, or the path of a file with it. Null: the file that
 * `gcloud auth application-default login` has written. Returns null if there is none, for the identity of the
 * machine. They are read for each token, because a mounted secret may be replaced. Throws UpstreamError.
 */
export async function readGoogleCredentials (
  source: string | null, home: string = homedir()
): Promise<JsonObject | null> {
  if (source?.trimStart().startsWith('{') === true) return parsed(source)
  try {
    return parsed(await readFile(source ?? join(home, '.config/gcloud/application_default_credentials.json'), 'utf8'))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : null
    if (code === null) throw error
    if (source === null && code === 'ENOENT') return null
    throw wrongCredentials(`The file of the credentials cannot be read (${code}).`)
  }
}

/** A text of the credentials. Throws UpstreamError for one that is missing. */
export function textOfCredentials (credentials: JsonObject, name: string): string {
  const value = credentials[name]
  if (isText(value)) return value
  throw wrongCredentials(`The credentials have no '${name}'.`)
}

/** Throws UpstreamError, without the text, which may be a secret. */
function parsed (text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch { /* As for another value. */ }
  throw wrongCredentials('The credentials are not a JSON object.')
}
