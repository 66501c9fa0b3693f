import t from 'tap'
import type { UpstreamErrorKind } from '../../../../services/shared/errors.ts'
import { errorKindOf, jobError, readErrorDetail } from '../../../../services/providers/video-jobs/errors.ts'

t.test('reads code and message from every common error format', async t => {
  const shapes: [unknown, string | null, string | null][] = [
    [{ error: { message: 'No.', type: 'invalid_request_error', code: 'bad' } }, 'bad', 'No.'],
    [{ error: { message: 'No.', type: 'invalid_request_error', code: null } }, 'invalid_request_error', 'No.'],
    [{ error: { code: 400, status: 'INVALID_ARGUMENT', message: 'No.' } }, 'INVALID_ARGUMENT', 'No.'],
    [[{ error: { code: 400, status: 'INVALID_ARGUMENT', message: 'No.' } }], 'INVALID_ARGUMENT', 'No.'],
    [{ code: 'permission', error: 'No.' }, 'permission', 'No.'],
    [{ code: 1201, message: 'No.', request_id: 'r' }, '1201', 'No.'],
    [{ detail: 'No.' }, null, 'No.'],
    [{ detail: [{ loc: ['body'], msg: 'No.', type: 'value_error' }] }, 'value_error', 'No.'],
    [{ title: 'Refused', detail: 'No.', status: 422 }, null, 'No.'],
    [{ error: 'No.', docUrl: 'https://x.example' }, null, 'No.'],
    ['No.', null, 'No.'],
    [null, null, null],
    [[], null, null],
    [{ error: null }, null, null]
  ]
  for (const [body, code, message] of shapes) {
    t.same(readErrorDetail(body), { code, message }, JSON.stringify(body))
  }
})

t.test('recognizes moderation, in client errors only', async t => {
  const moderated = [
    { code: 'SAFETY.INPUT.TEXT', message: null },
    { code: 'InputImageSensitiveContentDetected', message: null },
    { code: 'DataInspectionFailed', message: null },
    { code: 'content_policy_violation', message: null },
    { code: null, message: 'Your prompt was flagged.' },
    { code: null, message: 'NSFW content detected' }
  ]
  for (const detail of moderated) {
    t.equal(errorKindOf(400, detail, {}), 'moderated', detail.code ?? detail.message ?? '')
    t.equal(errorKindOf(500, detail, {}), 'bad_reply', 'a server error is not moderation')
  }
  t.equal(errorKindOf(400, { code: 'invalid', message: 'safety_tolerance must be a number' }, {}), 'bad_request')
})

t.test('recognizes an account without credit', async t => {
  const detailOf = (message: string) => ({ code: null, message })
  t.equal(errorKindOf(400, detailOf('You do not have enough credits to run this task.'), {}), 'quota')
  t.equal(errorKindOf(400, detailOf('Not enough credits.'), {}), 'quota')
  t.equal(errorKindOf(403, detailOf('User is locked. Reason: Exhausted balance.'), {}), 'quota')
  t.equal(errorKindOf(429, detailOf('Insufficient balance'), {}), 'quota')
})

t.test('classifies by status, unless a code is known', async t => {
  const none = { code: null, message: null }
  const expected = {
    302: 'bad_reply',
    400: 'bad_request',
    401: 'auth',
    402: 'quota',
    403: 'auth',
    404: 'not_found',
    408: 'timeout',
    409: 'bad_request',
    413: 'too_large',
    422: 'bad_request',
    429: 'rate',
    500: 'bad_reply',
    502: 'bad_reply',
    503: 'overloaded',
    504: 'timeout'
  }
  for (const [status, kind] of Object.entries(expected)) {
    t.equal(errorKindOf(Number(status), none, {}), kind, status)
  }
  t.equal(errorKindOf(429, { code: '1102', message: null }, { 1102: 'quota' }), 'quota')
})

t.test('classifies why a job failed', async t => {
  const google = { 3: 'bad_request', 8: 'rate', 13: 'bad_reply' } as const
  const cases: [string | null, string, Record<string, UpstreamErrorKind>, string][] = [
    [null, 'Failure to pass the risk control system', {}, 'moderated'],
    ['3', 'The prompt could not be submitted. It violates our usage guidelines.', google, 'moderated'],
    ['3', 'Unsupported output video duration 7 seconds.', google, 'bad_request'],
    ['8', 'Quota exceeded.', google, 'rate'],
    ['13', 'Internal error.', google, 'bad_reply'],
    ['SAFETY.OUTPUT.VIDEO', 'Not this.', {}, 'moderated'],
    [null, 'Image resolution is too small, minimum is 300x300', {}, 'bad_request'],
    [null, 'The image is too small.', {}, 'bad_request'],
    [null, 'Image pixel is invalid', {}, 'bad_request'],
    [null, 'The input image must be at least 256 pixels on both sides.', {}, 'bad_request'],
    ['image_too_small', 'No.', {}, 'bad_request'],
    ['ASSET.INVALID', 'No.', {}, 'bad_request'],
    ['InvalidParameter', 'No.', {}, 'bad_request'],
    ['InvalidParameter.DataInspection', 'No.', {}, 'moderated'],
    ['INTERNAL.BAD_OUTPUT.CODE01', 'It broke.', {}, 'bad_reply'],
    [null, 'Constraint violation in table image_jobs', {}, 'bad_reply'],
    [null, 'CUDA out of memory: too large', {}, 'bad_reply']
  ]
  for (const [code, message, codes, kind] of cases) {
    t.match(jobError({ code, message }, codes), { kind, message, sent: 'yes' }, `${code} ${message}`)
  }
})
