import { styleText } from 'node:util'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'

const levels: Readonly<Record<number, readonly [name: string, color: Parameters<typeof styleText>[0]]>> = {
  10: ['TRACE', 'gray'],
  20: ['DEBUG', 'blue'],
  30: ['INFO', 'green'],
  40: ['WARN', 'yellow'],
  50: ['ERROR', 'red'],
  60: ['FATAL', 'magenta']
}

/** A line of the log for a terminal: time, level, message, the other fields, the stack. */
export function readableLine (line: string): string {
  const { time, level, msg, err, ...fields } = read(line)
  const [name, color] = levels[Number(level)] ?? [String(level), 'white']
  const { stack, message, ...more } = isObject(err) ? err : {}
  const others = { ...fields, ...more }
  const parts = [
    `[${clock(Number(time))}]`,
    styleText(color, name.padEnd(5)),
    ...isText(msg) ? [styleText('bold', msg)] : [],
    ...Object.keys(others).length > 0 ? [styleText('gray', JSON.stringify(others))] : []
  ]
  const trace = isText(stack) ? stack : isText(message) ? message : null
  return `${parts.join(' ')}\n${trace === null ? '' : `${trace.replace(/^/gm, '    ')}\n`}`
}

function read (line: string): JsonObject {
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : { msg: line.trim() }
  } catch {
    return { msg: line.trim() }
  }
}

/** Hours to milliseconds of the local time. */
function clock (ms: number): string {
  const at = new Date(Number.isFinite(ms) ? ms : 0)
  const two = (value: number): string => String(value).padStart(2, '0')
  const seconds = `${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, '0')}`
  return `${two(at.getHours())}:${two(at.getMinutes())}:${seconds}`
}
