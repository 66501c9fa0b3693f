import { runLane } from '../together.ts'

runLane(0)
