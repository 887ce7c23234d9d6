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

// number is a number and its digits in a word, the first in the lowest byte.
type number struct {
	n     int
	width int // of the digits; 0: there are none, or more than fit
	ascii uint64
}

// set changes the number; mostly it goes up by one.
func (c *number) set(n int) {
	if c.width > 0 {
		if n == c.n {
			return
		}
		last := uint(c.width-1) * 8
		if n == c.n+1 && byte(c.ascii>>last) != '9' {
			c.n, c.ascii = n, c.ascii+1<<last
			return
		}
	}
	*c = number{n: n}
	if n >= 0 && n < tooLong {
		digits := eightDigits(uint64(n))
		leading := min(bits.TrailingZeros64(digits)/8, 7)
		c.width, c.ascii = 8-leading, (digits|zeros)>>(8*leading)
	}
}

func (c *number) append(dst []byte) []byte {
	if c.width == 0 {
		return appendInt(dst, c.n)
	}
	return binary.LittleEndian.AppendUint64(dst, c.ascii)[:len(dst)+c.width]
}
