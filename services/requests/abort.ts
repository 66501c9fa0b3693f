import type { ServerResponse } from 'node:http'

/**
 * A controller that aborts when the client disconnects before its response is complete; until the response is
 * closed it is one of `running`. It watches the response because a request is "closed" as soon as its body
 * has been read.
 */
export function abortOnDisconnect (response: ServerResponse, running: Set<AbortController>): AbortController {
  const controller = new AbortController()
  running.add(controller)
  response.on('close', () => {
    running.delete(controller)
    if (!response.writableEnded) controller.abort()
  })
  return controller
}
