import { isText, type JsonObject } from '../shared/json.ts'
import { urlPart } from './url-part.ts'

/** Most pages of a list that are read. */
const maxPages = 20

/** The query parameter of a page's token, and the member of the page before that states it. */
interface PageToken { parameter: string, member: string }

export const googlePages: PageToken = { parameter: 'pageToken', member: 'nextPageToken' }

/** The pages of a list. `read` gets what to append to the query: nothing for the first page. */
export async function * pagesOf (
  read: (query: string) => Promise<JsonObject>, { parameter, member }: PageToken
): AsyncGenerator<JsonObject, void, undefined> {
  let query = ''
  for (let page = 0; page < maxPages; page++) {
    const list = await read(query)
    yield list
    const token = list[member]
    if (!isText(token)) return
    query = `&${parameter}=${urlPart(token)}`
  }
}
