import pino, { type Logger } from 'pino'

/** Log lines are written together: a write of its own for each would cost as much as the line itself. */
const buffer = { bytes: 16_000, flushMs: 100 }

/** JSON lines on standard output, or readable ones when that is a terminal. */
export async function createLogger (level: string): Promise<Logger> {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.epochTime }
  if (process.stdout.isTTY) {
    const { default: pretty } = await import('pino-pretty')
    return pino(options, pretty({ translateTime: 'SYS:HH:MM:ss.l', singleLine: true }))
  }
  const destination = pino.destination({ fd: 1, sync: false, minLength: buffer.bytes })
  setInterval(() => destination.flush(), buffer.flushMs).unref()
  return pino(options, destination)
}
