// Numbers in decimal, appended to a buffer.

package runner

import (
	"encoding/binary"
	"math/bits"
	"strconv"
)

// tooLong is the first number with more digits than a word has bytes.
const tooLong = 1e8

// eightDigits returns the digits of n, which is below tooLong, with leading
// zeros: each in a byte, the first in the lowest. It splits all parts of the
// number at once, first in halves of four digits, then of two, then of one;
// x/100 is x*10486>>20 and x/10 is x*103>>10 for numbers so small.
func eightDigits(n uint64) uint64 {
	x := n/10000 | n%10000<<32
	high := x * 10486 >> 20 & 0x0000007f_0000007f
	x = high | (x-100*high)<<16
	high = x * 103 >> 10 & 0x000f_000f_000f_000f
	return high | (x-10*high)<<8
}

// zeros are eight digits "0".
const zeros = 0x30303030_30303030

// appendInt appends a number.
func appendInt(dst []byte, n int) []byte {
	if n < 0 || n >= tooLong {
		return strconv.AppendInt(dst, int64(n), 10)
	}
	digits := eightDigits(uint64(n))
	leading := min(bits.TrailingZeros64(digits)/8, 7)
	return binary.LittleEndian.AppendUint64(dst, (digits|zeros)>>(8*leading))[:len(dst)+8-leading]
}

// appendDigits appends n, which is below tooLong, in width digits, at most 8.
func appendDigits(dst []byte, n, width int) []byte {
	digits := (eightDigits(uint64(n)) | zeros) >> (8 * (8 - width))
	return binary.LittleEndian.AppendUint64(dst, digits)[:len(dst)+width]
}

// counter makes words of numbers that mostly go up by little: the digits, the
// first in the lowest byte. It knows those of ten numbers in a row.
type counter struct {
	low   uint32 // the first of the ten
	shift uint32 // bits before the last digit
	ascii uint64 // the digits of low
}

// newCounter returns a counter that knows the first ten numbers.
func newCounter() counter { return counter{ascii: '0'} }

// word returns the digits of n, which is below tooLong.
func (c *counter) word(n uint32) uint64 {
	if n-c.low > 9 {
		c.set(n)
	}
	return c.ascii + uint64(n-c.low)<<c.shift
}

// width is the number of digits of the last word.
func (c *counter) width() uint32 { return c.shift/8 + 1 }

// set makes the ten known that n is among, mostly the next ten.
func (c *counter) set(n uint32) {
	if n-c.low < 20 && c.shift > 0 && byte(c.ascii>>(c.shift-8)) != '9' {
		c.low, c.ascii = c.low+10, c.ascii+1<<(c.shift-8)
		return
	}
	c.low = n - n%10
	digits := eightDigits(uint64(c.low))
	leading := min(uint32(bits.TrailingZeros64(digits)), 56) &^ 7
	c.shift, c.ascii = 56-leading, (digits|zeros)>>leading
}
