import type { VideoFile } from '../provider-video.ts'
import type { VideoClient } from '../video-jobs/client.ts'

/** Names in responses, and their numbers in operations. Source: google/rpc/code.proto. */
export const googleCodes = {
  INVALID_ARGUMENT: 'bad_request',
  3: 'bad_request',
  DEADLINE_EXCEEDED: 'timeout',
  4: 'timeout',
  PERMISSION_DENIED: 'auth',
  7: 'auth',
  RESOURCE_EXHAUSTED: 'rate',
  8: 'rate',
  11: 'bad_request',
  13: 'bad_reply',
  UNAVAILABLE: 'overloaded',
  14: 'overloaded',
  UNAUTHENTICATED: 'auth',
  16: 'auth'
} as const

/**
 * Files are fetched from the configured base URL, whatever host the answer names. Google redirects to
 * `/download/v1beta/files/…` of the same host, where the key is needed too. Source: maximhq/bifrost, pull
 * request 3037.
 */
export async function videoFileAt (uri: string, api: VideoClient, signal: AbortSignal): Promise<VideoFile> {
  const { pathname, origin } = new URL(uri)
  const [, file] = /\/(files\/[\w-]+):download$/.exec(pathname) ?? []
  return file === undefined ? { url: uri } : await api.openFile(`/${file}:download?alt=media`, signal, origin)
}
