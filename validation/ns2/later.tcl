# As oracle.tcl, with everything later by OFFSET seconds on ns-2's clock:
#
#   ns later.tcl OFFSET -N 40 -aqm DropTail -warm 700 -end 800 ...
#
# Nothing should depend on it. But ns-2's clock is a double: how the time to send a packet is rounded
# changes at each power of two seconds, and with it who comes first among packets that arrive at
# nominally equal times.
set offset [lindex $argv 0]
set argv [lrange $argv 1 end]
set file [open [file join [file dirname [info script]] oracle.tcl]]
set text [read $file]
close $file
set draw {[$srng uniform 0 $o(startmax)]}
eval [string map [list $draw "\[expr {$offset + $draw}\]"] $text]
