// Package bench measures a server of the Pub/Sub API from outside, over HTTP, as its clients and push endpoints see it.
//
// No figure of a machine means much by itself, so each stands beside a floor: the least that the same work can cost there,
// taken moments before or after. A bare router answers the same requests without a store; raw commands store the same bytes
// in the same Redis at the same fsync; a bare loop POSTs to the same receiver. What counts is how far the server is from its
// floor, and that holds on other machines, too, and while others use them.
//
// Everything is measured several times, floor and server in turns. A row shows medians; the ratio is the median of the
// ratios of the single runs.
//
// The load comes from this process. The floor has a process of its own (NewFloor), as the server has, so that both sides of
// a comparison share the machine in the same way.
package bench
