/** An answer that is not a success, or none at all: `status` 0. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string | null
  readonly param: string | null
  readonly requestId: string | null

  constructor (status: number, message: string, more: Partial<Pick<ApiError, 'code' | 'param' | 'requestId'>> = {}) {
    super(message)
    this.status = status
    this.code = more.code ?? null
    this.param = more.param ?? null
    this.requestId = more.requestId ?? null
  }
}

/** The error that an answer's body describes, in OpenAI's shape or in any other. */
export function errorOf (status: number, text: string, requestId: string | null): ApiError {
  try {
    const { error } = JSON.parse(text)
    if (typeof error?.message === 'string') return new ApiError(status, error.message, { ...error, requestId })
  } catch {
    // A proxy's page is no JSON.
  }
  return new ApiError(status, `The gateway answered with status ${status}.`, { requestId })
}

/** One sentence for a person: what went wrong. */
export function inWords (error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
