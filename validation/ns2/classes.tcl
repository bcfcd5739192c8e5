# As oracle.tcl, with the outcomes of RIO's In packets (of the first -rioin flows) separately:
#
#   ns classes.tcl -N 40 -aqm RIO -rioin 20 ...
#
# adds in_drops (over [warm, end], of every kind) and in_goodput_mbps (of the In flows together).
set file [open [file join [file dirname [info script]] oracle.tcl]]
set text [read $file]
close $file
set drops(in) 0
set count {incr drops($kind)}
set count_in {if {[lindex $a 7] == 1} { incr drops(in) }}
set print {puts "{$out}"}
set print_in {
  set in 0
  for {set i 0} {$i < $o(rioin)} {incr i} { incr in $D(a$i) }
  append out ",\"in_drops\":$drops(in),\"in_goodput_mbps\":[r [expr {$in*$o(pkt)*8.0/$T/1e6}]]"
}
eval [string map [list $count "$count; $count_in" $print "$print_in; $print"] $text]
