package subscriptions

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"
	"unicode/utf8"
)

// An ack id says which delivery of which message of which subscription it
// settles. To clients it is opaque. Its bytes, in base64url:
//
//	version 1 | subscription UID, 10 bytes | uvarints: partition, milli, seq,
//	number, epoch, size, key hash | CRC-32C of all before
//
// The checksum tells a mangled id from one of another server; it is no secret,
// since who may ack is the business of access control.
const ackIDVersion = 1

var (
	// opaqueEncoding writes what is opaque to clients: ack ids and page tokens.
	opaqueEncoding = base64.RawURLEncoding.Strict()
	castagnoli     = crc32.MakeTable(crc32.Castagnoli)
)

// encodeAckID makes the ack id of a receipt of the subscription with this UID.
func encodeAckID(uid string, r Receipt) string {
	b := make([]byte, 0, 48)
	b = append(b, ackIDVersion)
	b, _ = uidEncoding.AppendDecode(b, []byte(uid)) // our own UIDs always decode
	b = binary.AppendUvarint(b, 0)
	for _, v := range []int64{r.ID.Milli, r.ID.Seq, r.Number, r.Epoch, int64(r.Size)} {
		b = binary.AppendUvarint(b, uint64(v))
	}
	b = binary.AppendUvarint(b, r.Key)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return opaqueEncoding.EncodeToString(b)
}

// decodeOpaque reads the one spelling that an encoder writes. The package base64
// passes over line breaks, even where it is strict.
func decodeOpaque(s string) ([]byte, error) {
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		return nil, base64.CorruptInputError(i)
	}
	return opaqueEncoding.DecodeString(s)
}

// decodeAckID reads an ack id and the UID of its subscription. ok is false for
// everything that encodeAckID does not write.
func decodeAckID(s string) (uid string, r Receipt, ok bool) {
	b, err := decodeOpaque(s)
	if err != nil || len(b) < 1+uidBytes+7+4 || b[0] != ackIDVersion {
		return "", r, false
	}
	body, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return "", r, false
	}
	uid = uidEncoding.EncodeToString(body[1 : 1+uidBytes])
	var values [6]int64
	rest := body[1+uidBytes:]
	for i := range values {
		v, n := binary.Uvarint(rest)
		if n <= 0 || int64(v) < 0 {
			return "", r, false
		}
		values[i], rest = int64(v), rest[n:]
	}
	key, n := binary.Uvarint(rest)
	if n <= 0 || n != len(rest) || values[0] != 0 {
		return "", r, false
	}
	return uid, Receipt{
		ID:     MessageID{Milli: values[1], Seq: values[2]},
		Number: values[3], Epoch: values[4], Size: int(values[5]), Key: key,
	}, true
}

// maxBadAckID bounds how long an ack id may be that is answered as bad, by itself.
const maxBadAckID = 256

// receipts decodes ack ids for one subscription, in order of the log. An id that
// is malformed or belongs to another subscription refuses them all with
// INVALID_ARGUMENT; with exactly-once delivery it is returned as bad, unless it
// is too long for an answer. A repeated id counts once.
func receipts(sub Subscription, ackIDs []string) (rs []Receipt, bad []string, err error) {
	if len(ackIDs) == 0 {
		return nil, nil, Errorf(InvalidArgument, "ackIds: at least one ack id is required")
	}
	rs = make([]Receipt, 0, len(ackIDs))
	for i, s := range ackIDs {
		r, err := receipt(sub, i, s)
		switch {
		case err == nil:
			rs = append(rs, r)
		case sub.ExactlyOnce && len(s) <= maxBadAckID && utf8.ValidString(s):
			bad = append(bad, s)
		default:
			return nil, nil, err
		}
	}
	slices.SortFunc(rs, func(a, b Receipt) int {
		if c := a.ID.Compare(b.ID); c != 0 {
			return c
		}
		return int(b.Number - a.Number)
	})
	slices.Sort(bad)
	return slices.Compact(rs), slices.Compact(bad), nil
}

// receipt decodes the ack id at i of a request.
func receipt(sub Subscription, i int, s string) (Receipt, error) {
	uid, r, ok := decodeAckID(s)
	if !ok {
		return r, Errorf(InvalidArgument, "ackIds[%d]: %q is not an ack id", i, clip(s, 64))
	}
	if uid != sub.UID {
		return r, Errorf(InvalidArgument, "ackIds[%d]: this ack id belongs to another subscription than %s, or to an earlier one of that name", i, sub.Name)
	}
	return r, nil
}

// clip shortens what a caller sent for use in a message.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
