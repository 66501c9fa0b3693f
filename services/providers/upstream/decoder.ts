import { interceptors, type Dispatcher } from 'undici'

/**
 * Returns undici's decoder of compressed answers in front of a handler. Created only for such an answer: most
 * are plain, and undici warns that the decoder is experimental.
 */
export function decoderFor (handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  let decoder = handler
  const capture = (_: Dispatcher.DispatchOptions, wrapped: Dispatcher.DispatchHandler): boolean => {
    decoder = wrapped
    return true
  }
  interceptors.decompress({ skipErrorResponses: false })(capture)({ method: 'GET', path: '/' }, handler)
  return decoder
}
