import pino, { type Logger } from 'pino'

/** JSON lines on standard output, or readable ones when that is a terminal. */
export async function createLogger (level: string): Promise<Logger> {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime }
  if (!process.stdout.isTTY) return pino(options, pino.destination({ fd: 1, sync: false }))
  const { default: pretty } = await import('pino-pretty')
  return pino(options, pretty({ translateTime: 'SYS:HH:MM:ss.l', singleLine: true }))
}
