import sharp from 'sharp'
import t from 'tap'
import { convertImage } from '../../../services/images/convert-image.ts'
import { failureOf, picture } from '../../servers/image-server.ts'

const plain = { size: null, format: null, compression: null }

t.test('an image that is as it was asked for is not touched', async t => {
  for (const format of ['png', 'jpeg', 'webp'] as const) {
    const bytes = await picture(64, 32, format)
    t.equal(await convertImage(bytes, { ...plain, size: { width: 64, height: 32 }, format }), bytes, format)
    t.equal(await convertImage(bytes, plain), bytes)
  }
})

t.test('a size or format that the provider does not know is made', async t => {
  const bytes = await picture(64, 32, 'jpeg')
  const sized = await convertImage(bytes, { ...plain, size: { width: 50, height: 40 } })
  t.match(await sharp(sized).metadata(), { width: 50, height: 40, format: 'jpeg' })
  for (const format of ['png', 'webp'] as const) {
    const made = await convertImage(bytes, { ...plain, format, compression: 50 })
    t.match(await sharp(made).metadata(), { width: 64, height: 32, format })
  }
})

t.test('what is no image, or too large a one, is refused before anything is unpacked', async t => {
  const size = { width: 10, height: 10 }
  const bomb = Buffer.from(await picture(16, 16))
  bomb.writeUInt32BE(60_000, 16)
  const broken = (await picture(64, 64)).subarray(0, 60)
  const cases = { html: Buffer.from('<html><body>Not found</body></html>'), empty: Buffer.alloc(0), bomb, broken }
  for (const [name, bytes] of Object.entries(cases)) {
    t.match(await failureOf(convertImage(bytes, { ...plain, size })), { name: 'MediaRejected' }, name)
  }
})
