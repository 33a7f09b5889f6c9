import { Command } from 'commander';
import {
  describeCancel,
  describeObserve,
  describeRedeliver,
  describeRetryStoring,
  describeWake,
} from './generation-actions.ts';
import { describeErase } from './generation-erase.ts';
import { describeList } from './generation-list.ts';
import { describeRefund } from './generation-refund.ts';
import { describeResolve } from './generation-resolve.ts';
import { describeShow } from './generation-show.ts';
import { describeWatch } from './generation-watch.ts';

/** `darkroom generation`: find and look at generations, wake their runs, put right and end them by hand. */
export function generationCommand(): Command {
  return new Command('generation')
    .description('generations, for operators')
    .addCommand(describeList(new Command('list')))
    .addCommand(describeShow(new Command('show')))
    .addCommand(describeWatch(new Command('watch')))
    .addCommand(describeWake(new Command('wake')))
    .addCommand(describeObserve(new Command('observe')))
    .addCommand(describeRetryStoring(new Command('retry-storing')))
    .addCommand(describeCancel(new Command('cancel')))
    .addCommand(describeRedeliver(new Command('redeliver')))
    .addCommand(describeRefund(new Command('refund')))
    .addCommand(describeResolve(new Command('resolve')))
    .addCommand(describeErase(new Command('erase')));
}
