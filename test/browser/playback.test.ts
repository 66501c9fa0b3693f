import t from 'tap'
import { configFromEnvironment } from '../../services/config/environment/environment.ts'
import { openPage, skip } from '../helpers/chromium.ts'
import { startGateway } from '../helpers/gateway.ts'

interface Played { currentTime: number, sought: number }

/** Runs in the page. */
const playAndSeek = `(async () => {
  const video = document.querySelector('video')
  await video.play()
  await new Promise(resolve => video.addEventListener('timeupdate', () => video.currentTime > 0.2 && resolve()))
  video.pause()
  const { duration, videoWidth, videoHeight, currentTime } = video
  video.currentTime = 3
  await new Promise(resolve => video.addEventListener('seeked', resolve, { once: true }))
  return { duration, videoWidth, videoHeight, currentTime, sought: video.currentTime, error: video.error }
})()`

t.test('a video plays in a browser by its URL alone, and seeking works', { skip }, async t => {
  const { url, headers } = await startGateway(t, { config: configFromEnvironment({}) })
  const answer = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({
      model: 'sandbox-video',
      messages: [{ role: 'user', content: 'a red ball\nsandbox:delay 0' }],
      video: { seconds: 4, size: '320x180' }
    })
  })
  const completion = await answer.json() as { choices: [{ message: { content: string } }] }
  const { content } = completion.choices[0].message
  const part = await fetch(content, { headers: { range: 'bytes=4-7' } })
  t.match([part.status, await part.text(), part.headers.get('content-range')], [206, 'ftyp', /^bytes 4-7\/\d+$/])

  const page = await openPage(t)
  // Another origin, like the page of an app.
  await page.setContent(`<video src="${content.replaceAll('&', '&amp;')}" muted></video>`)
  const played = await page.evaluate<Played>(playAndSeek)
  t.match(played, { duration: 4, videoWidth: 320, videoHeight: 180, sought: 3, error: null })
  t.ok(played.currentTime > 0.2)
})
