package redisstream

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"strings"
)

// A backup is
//
//	postrider-backup 1\n             the format
//	a gzip stream of records         each: length as uvarint, kind, texts, CRC-32C of kind and texts (4 bytes)
//	SHA-256 of all before it, \n     64 hex digits
//
// A record's texts are preceded by their number, and each by its length, as uvarints. The first record ('h') names the
// backup, the last one ('e') says how much there is. Those between are parts.
const (
	backupMagic  = "postrider-backup "
	backupFormat = "1"
	backupHead   = 'h'
	backupEnd    = 'e'
	// longestRecord bounds what a damaged length makes us read.
	longestRecord = 64 << 20
	sumLength     = 2*sha256.Size + 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// backupWriter writes a backup.
type backupWriter struct {
	sum    hash.Hash
	plain  *bufio.Writer // beside the sum
	zipped *gzip.Writer
	buffer []byte
}

func newBackupWriter(w io.Writer, id string) (*backupWriter, error) {
	b := &backupWriter{sum: sha256.New(), plain: bufio.NewWriterSize(w, 1<<16)}
	out := io.MultiWriter(b.plain, b.sum)
	if _, err := io.WriteString(out, backupMagic+backupFormat+"\n"); err != nil {
		return nil, err
	}
	var err error
	if b.zipped, err = gzip.NewWriterLevel(out, gzip.BestSpeed); err != nil {
		return nil, err
	}
	return b, b.record(backupHead, []string{id})
}

func (b *backupWriter) put(p part) error { return b.record(p.kind(), p.texts()) }

func (b *backupWriter) record(kind byte, texts []string) error {
	body := append(b.buffer[:0], kind)
	body = binary.AppendUvarint(body, uint64(len(texts)))
	for _, t := range texts {
		body = appendText(body, t)
	}
	body = binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, castagnoli))
	b.buffer = body
	if _, err := b.zipped.Write(binary.AppendUvarint(nil, uint64(len(body)))); err != nil {
		return err
	}
	_, err := b.zipped.Write(body)
	return err
}

// end writes the last record and the sum.
func (b *backupWriter) end(total tally) error {
	if err := b.record(backupEnd, []string{total.text()}); err != nil {
		return err
	}
	if err := b.zipped.Close(); err != nil {
		return err
	}
	if _, err := b.plain.WriteString(hex.EncodeToString(b.sum.Sum(nil)) + "\n"); err != nil {
		return err
	}
	return b.plain.Flush()
}

// readBackup reads a backup from its beginning and gives what is in it. An error says where the file is damaged.
func readBackup(r io.Reader, put func(part) error) (id string, total tally, err error) {
	b := &backupReader{in: bufio.NewReaderSize(r, 1<<16), sum: sha256.New()}
	line, err := b.in.ReadString('\n')
	format, ok := strings.CutPrefix(line, backupMagic)
	switch {
	case !ok:
		return "", tally{}, errors.New("this is not a backup of Postrider")
	case format != backupFormat+"\n":
		return "", tally{}, fmt.Errorf("the backup is of the format %q, but this Postrider knows only %q: a newer one wrote it",
			strings.TrimSpace(format), backupFormat)
	case err != nil:
		return "", tally{}, err
	}
	b.saw([]byte(line)...)
	var failure errPut
	if id, total, err = b.parts(put); errors.As(err, &failure) {
		return id, total, failure.error
	}
	if err == nil {
		err = b.checkSum()
	}
	if err != nil {
		err = fmt.Errorf("the backup is damaged in record %d, about %d bytes from its beginning: %w", b.records, b.at, early(err))
	}
	return id, total, err
}

// errPut is an error that is not the file's.
type errPut struct{ error }

func early(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends too early")
	}
	return err
}

// backupReader gives gzip its bytes one by one, so that it stops where the stream ends and we know where it is.
type backupReader struct {
	in      *bufio.Reader
	sum     hash.Hash
	unsaid  []byte // read, but not yet part of sum
	at      int64  // bytes read
	records int64
}

func (b *backupReader) ReadByte() (byte, error) {
	c, err := b.in.ReadByte()
	if err == nil {
		b.saw(c)
	}
	return c, err
}

func (b *backupReader) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	b.saw(p[:n]...)
	return n, err
}

func (b *backupReader) saw(p ...byte) {
	b.at += int64(len(p))
	if b.unsaid = append(b.unsaid, p...); len(b.unsaid) >= 1<<12 {
		b.sum.Write(b.unsaid)
		b.unsaid = b.unsaid[:0]
	}
}

// parts reads the records.
func (b *backupReader) parts(put func(part) error) (id string, total tally, err error) {
	zipped, err := gzip.NewReader(b)
	if err != nil {
		return "", total, err
	}
	zipped.Multistream(false)
	plain := bufio.NewReaderSize(zipped, 1<<16)
	for {
		kind, texts, err := b.record(plain)
		if err != nil {
			return id, total, err
		}
		b.records++
		switch {
		case b.records == 1 && (kind != backupHead || len(texts) != 1):
			return id, total, errors.New("the first record is not the head")
		case b.records == 1:
			id = texts[0]
		case kind == backupEnd && len(texts) == 1:
			if total, err = tallyOf(texts[0]); err != nil {
				return id, total, err
			}
			if _, err := plain.ReadByte(); !errors.Is(err, io.EOF) { // which checks gzip's own sum, too
				return id, total, errors.Join(errors.New("something follows the end"), err)
			}
			return id, total, nil
		default:
			p, err := partOf(kind, texts)
			if err != nil {
				return id, total, err
			}
			if err := put(p); err != nil {
				return id, total, errPut{err}
			}
		}
	}
}

func (b *backupReader) record(plain *bufio.Reader) (kind byte, texts []string, err error) {
	length, err := binary.ReadUvarint(plain)
	if err != nil {
		return 0, nil, err
	}
	if length < 6 || length > longestRecord {
		return 0, nil, fmt.Errorf("a record is %d bytes long", length)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(plain, body); err != nil {
		return 0, nil, err
	}
	body, sum := body[:length-4], binary.LittleEndian.Uint32(body[length-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return 0, nil, errors.New("a record's checksum is wrong")
	}
	r := reader{rest: string(body[1:])}
	texts = make([]string, r.length())
	for i := range texts {
		texts[i] = r.text()
	}
	if r.broken || r.rest != "" {
		return 0, nil, errors.New("a record does not hold what it says")
	}
	return body[0], texts, nil
}

// checkSum compares the sum of the whole file.
func (b *backupReader) checkSum() error {
	b.sum.Write(b.unsaid)
	want := hex.EncodeToString(b.sum.Sum(nil)) + "\n"
	got, err := io.ReadAll(io.LimitReader(b.in, sumLength+1))
	if err != nil {
		return err
	}
	if len(got) < sumLength {
		return io.ErrUnexpectedEOF
	}
	if string(got) != want {
		return errors.New("the checksum of the file is wrong")
	}
	return nil
}
