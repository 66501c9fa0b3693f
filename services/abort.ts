import type { ServerResponse } from 'node:http'

/**
 * A signal that aborts when the client goes away before its response is complete. It watches the response,
 * not the request: a request is "closed" as soon as its body has been read.
 */
export function abortedWithClient (response: ServerResponse): AbortController {
  const controller = new AbortController()
  response.once('close', () => {
    if (!response.writableEnded) controller.abort()
  })
  return controller
}
