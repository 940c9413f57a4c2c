// Package storagetest says what [subscriptions.Store] promises, as tests that every store passes: one file a behaviour, one
// short function a case. [SideBySide] drives two stores with the same random operations; RAPID_CHECKS=1000 in the environment
// makes it look longer.
//
// Where the contract leaves a choice, both stores choose the same:
//
//   - Time is whole milliseconds; a duration is rounded up, so that nothing ends early. An expired lease is one whose deadline
//     is not later than now; an outlived message is one whose age is greater than Retention (or keep).
//   - A lease or sweep looks at most at the first 200 of what is due, of what is dead and of what is too old, and answers with
//     at most 200 messages. Messages it drops on the way do not count towards Max.
//   - The clock may go back. Ids still rise, and what is told as a time since is then 0, never negative.
//   - A lease turns expired leases, then moves the cursor over what outlived the retention, then redelivers, then delivers. A
//     sweep drops first.
//   - Jitter(u, i) counts, from 0, the delays that a step gives, in order of the deadlines (or of the nacks).
//   - A redelivery that does not fit MaxBytes ends the redeliveries, a new message that does not fit ends the answer.
//   - LeaseResult.More holds whenever another lease now would find something, whatever bound ended this one. NextDue is 0
//     when something is due already.
//   - An outstanding message that is not in the log counts as Lost, also when it is too old. So does what the cursor passes
//     without finding it: a message that goes is always counted.
//   - Whatever call adopts a higher revision of a subscription wakes with Revised: else the Revise that follows, not higher
//     any more, would wake nobody.
//   - One call wakes with Due at most once, with the smallest In. The bound frees a place when the last lease left new
//     messages for its sake and fewer are outstanding now.
//   - Attach answers ErrGone on a closed topic, also where the state exists. A slot that was closed stays so when emptied.
//   - A use of a subscription is: Attach, Revise, Acknowledge, and Lease with Use.
//   - With a Match, a lease that may take new messages looks at max(Max, 100) of them, 200 at most, and if none of those matches
//     at 1,000 more; it stops at the 200th that matches. The cursor passes what does not match up to the next message that does
//     and cannot be taken, or to the end of what was looked at. A store may stop earlier where messages are large.
//   - A sweep fills the queues of keys that overflowed before it drops anything.
//   - A sweep calls back to life, and hands out, only dead messages whose hold has passed, in order of the log. NextDue is the
//     next moment after now at which a lease runs out, a hold ends or the wait of what a review found dead is over.
//   - SettleDead takes a message whatever became of it since the sweep, for its copy is in the dead-letter topic.
//   - With nothing attached, publishes are dropped also while dead letters are kept.
//   - A Feed position that is Lost brings no changes, only the position to go on from. Changes may come in pages: what is
//     missing comes with the next Beat.
//   - The log may hold somewhat more than is needed ([Fixture.Slack]), but nothing when nothing is.
package storagetest
