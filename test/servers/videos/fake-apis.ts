import { fal } from './fal.ts'
import { hailuo } from './hailuo.ts'
import { kling } from './kling.ts'
import { klingO1, klingOmni } from './kling-omni.ts'
import { klingTurbo } from './kling-turbo.ts'
import { luma } from './luma.ts'
import { lumaAgents } from './luma-agents.ts'
import { minimax } from './minimax.ts'
import { omni } from './omni.ts'
import { openai } from './openai.ts'
import { openrouter } from './openrouter.ts'
import { replicate } from './replicate.ts'
import { runway } from './runway.ts'
import { seedance } from './seedance.ts'
import { together } from './together.ts'
import { veo } from './veo.ts'
import { vertex } from './vertex.ts'
import { wan } from './wan.ts'
import type { FakeVideoApi } from './fake-api.ts'
import { xai } from './xai.ts'

/** All fake video APIs. */
export const fakeVideoApis: readonly FakeVideoApi[] = [
  openai, together, openrouter, runway, fal, replicate, veo, vertex, omni, seedance, kling, klingOmni,
  klingO1, klingTurbo, wan, xai, minimax, hailuo, luma, lumaAgents
]
