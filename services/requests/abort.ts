import type { ServerResponse } from 'node:http'
import type { Enlisted, Roster } from '../shared/active-set.ts'

/** What stops the work for one request. */
export class RequestAbort extends AbortController implements Enlisted {
  slot = -1
}

/**
 * A controller that aborts when the client goes away before its response is complete; until the response is
 * closed it is one of `running`. It watches the response, not the request: a request is "closed" as soon as
 * its body has been read.
 */
export function abortedWithClient (response: ServerResponse, running: Roster<RequestAbort>): RequestAbort {
  const controller = new RequestAbort()
  running.add(controller)
  response.on('close', () => {
    running.delete(controller)
    if (!response.writableEnded) controller.abort()
  })
  return controller
}
