# SPDX-License-Identifier: BSD-2-Clause
# What a forwarded packet costs; the data are those of tests/bench/costs. Drawn by `make pictures`.
set terminal svg size 860,330 font "Helvetica,13" background "white"
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.8 border -1
set boxwidth 0.9
set xtics scale 0 font ",11"
set ylabel "instructions a packet"
set xrange [-0.6:5.6]
set yrange [0:8200]
set bmargin 3.2
set grid ytics lc rgb "#dddddd"
set key top right
data = ".github/pictures/cost.dat"
plot data using 2:xtic(1) title "igb" lc rgb "#0072b2", \
     data using 3 title "virtio\\_net" lc rgb "#e69f00", \
     data using ($0-0.17):2:2 with labels offset 0,0.6 font ",11" notitle, \
     data using ($0+0.17):3:3 with labels offset 0,0.6 font ",11" notitle
