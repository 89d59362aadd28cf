package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
)

func shrink(img image.Image, n int) image.Image {
	from := img.Bounds()
	to := image.NewRGBA(image.Rect(0, 0, from.Dx()/n, from.Dy()/n))
	for y := range to.Rect.Dy() {
		for x := range to.Rect.Dx() {
			var r, g, b uint32
			for i := range n * n {
				r1, g1, b1, _ := img.At(from.Min.X+x*n+i%n, from.Min.Y+y*n+i/n).RGBA()
				r, g, b = r+r1>>8, g+g1>>8, b+b1>>8
			}
			area := uint32(n * n)
			to.SetRGBA(x, y, color.RGBA{uint8(r / area), uint8(g / area), uint8(b / area), 255})
		}
	}
	return to
}

func arrange(all []image.Image, columns int) image.Image {
	if len(all) == 0 {
		return image.NewRGBA(image.Rect(0, 0, 1, 1))
	}
	size := all[0].Bounds().Size()
	to := image.NewRGBA(image.Rect(0, 0, size.X*columns, size.Y*((len(all)+columns-1)/columns)))
	for n, img := range all {
		at := image.Pt(n%columns*size.X, n/columns*size.Y)
		draw.Draw(to, img.Bounds().Add(at), img, img.Bounds().Min, draw.Src)
	}
	return to
}

func encode(img image.Image) ([]byte, error) {
	var out bytes.Buffer
	err := png.Encode(&out, img)
	return out.Bytes(), err
}

// makePhotos writes noisy photos, as PNG and JPEG in turn.
func makePhotos(dir string, count int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for n := range count {
		world := rand.New(rand.NewPCG(uint64(n), 0))
		img := image.NewRGBA(image.Rect(0, 0, 320, 240))
		for i := range img.Pix {
			img.Pix[i] = uint8(i*n>>8) ^ uint8(world.Uint32())
			if i%4 == 3 {
				img.Pix[i] = 255
			}
		}
		raw, name, err := []byte(nil), fmt.Sprintf("%02d.png", n), error(nil)
		if n%2 == 0 {
			raw, err = encode(img)
		} else {
			var out bytes.Buffer
			name = fmt.Sprintf("%02d.jpg", n)
			err = jpeg.Encode(&out, img, nil)
			raw = out.Bytes()
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o644); err != nil {
			return err
		}
	}
	return nil
}
