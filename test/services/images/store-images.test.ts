import t from 'tap'
import { storeImages } from '../../../services/images/store-images.ts'
import { MediaUnavailable } from '../../../services/media/errors.ts'
import type { MediaStore } from '../../../services/media/media.ts'
import { GatewayError } from '../../../services/shared/errors.ts'

/** A store whose writes fail as those of a disk or bucket that are interrupted. */
function interruptedStore (interrupt: () => void): MediaStore {
  const store = async () => {
    interrupt()
    throw new MediaUnavailable(new Error('interrupted'))
  }
  return { receive: async () => ({ store, discard: async () => {} }) } as unknown as MediaStore
}

for (const [name, reason, expected] of [
  ['the client\'s deadline', GatewayError.deadlineExceeded(200), { status: 504, code: 'deadline_exceeded' }],
  ['the gateway\'s stop', GatewayError.unavailable('The gateway is shutting down.'), { status: 503, message: /shutting down/ }]
] as const) {
  t.test(`an image that ${name} interrupts is no failure of the media store`, async t => {
    const controller = new AbortController()
    const lost: unknown[] = []
    const faults: unknown[] = []
    await t.rejects(storeImages([{ bytes: Buffer.from('png'), revisedPrompt: null }], {
      media: interruptedStore(() => controller.abort(reason)),
      account: 'a',
      provider: 'p',
      conversion: { size: null, format: null, compression: null },
      download: async () => { throw new Error('The bytes are there.') },
      signal: controller.signal,
      onLost: error => { lost.push(error) },
      onCopyFailure: fault => { faults.push(fault) }
    }), expected)
    t.same(lost, [reason], 'what is logged is the reason')
    t.same(faults, [], 'and no fault of the store is counted')
  })
}
