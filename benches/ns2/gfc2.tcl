# GFC-2 in ns-2: ../../examples/gfc2.toml, 22 web sessions, one constant and one greedy source; with -greedy 1
# ../gfc2-greedy.toml, a thousand times the rates and a greedy flow instead of each session.
source [file join [file dirname [info script]] common.tcl]
array set o {-greedy 0}
array set o $argv
# 1000 bytes on the wire, headers included.
Agent/TCP set packetSize_ 960
set unit kb
set access 10Mb
if {$o(-greedy)} {
  Agent/TCP set window_ 10000
  set unit Mb
  set access 1Gb
}
# Byte limits, which scenarios state in kB, as numbers of packets.
Queue/DropTail set queue_in_bytes_ [expr {!$o(-greedy)}]
Queue/DropTail set mean_pktsize_ 1000
proc node name {
  if {![info exists ::node($name)]} {set ::node($name) [$::ns node]}
  return $::node($name)
}
foreach {a b rate delay} {R1 R2 50 20ms  R2 R3 100 10ms  R3 R4 50 5ms  R4 R5 150 5ms  R5 R6 150 5ms  R6 R7 50 10ms} {
  limited_link [node $a] [node $b] $rate$unit $delay DropTail 120
  limited_link [node $b] [node $a] $rate$unit $delay DropTail 120
}
foreach {host router} {s1 R1  s2 R2  d2 R2  s3 R3  d3 R3  s4 R4  d4 R4  s5 R5  d5 R5  s6 R6  d6 R6  d7 R7} {
  join_hosts [node $host] [node $router] $access 5ms
}
foreach {count from to} {1 s1 d6  1 s2 d6  1 s3 d6  1 s1 d7  1 s2 d7  1 s4 d7  3 s5 d6  1 s1 d2  2 s2 d3
                         1 s3 d4  7 s6 d7  2 s4 d5} {
  if {$o(-greedy)} {
    for {set i 0} {$i < $count} {incr i} {greedy Newreno TCPSink [node $from] [node $to]}
  } else {
    # Sizes are drawn in packets of 1000 bytes.
    sessions $count [node $to] [node $from] [random Exponential avg_ 1] [random Exponential avg_ 15] 1 \
      [random Constant val_ 1] [random Constant val_ 0] [random Pareto avg_ 12 shape_ 1.2]
  }
}
if {!$o(-greedy)} {
  constant [node s3] [node d4] 12kb 1000 0
  greedy Reno TCPSink [node s4] [node d5]
}
go
