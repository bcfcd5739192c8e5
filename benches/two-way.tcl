# The two-way dumbbell of two-way.toml in ns-2: twenty NewReno flows each way, RED there, DropTail back.
#
#   ns two-way.tcl [-stats 0]      prints {"arrivals": packets offered to the bottleneck} unless -stats is 0
array set o {-stats 1 -end 200 -warm 0}
array set o $argv
Simulator instproc register-nam-linkconfig args {}
Simulator instproc remove-nam-linkconfig args {}
set ns [new Simulator]
Agent/TCP set packetSize_ 500
Agent/TCP set window_ 10000
Agent/TCP set minrto_ 1.0
Agent/TCP set tcpTick_ 0.001
Queue set limit_ 1000000
foreach {key value} {thresh_ 15 maxthresh_ 45 linterm_ 10 q_weight_ 0.002 gentle_ false adaptive_ 0
                     bytes_ false queue_in_bytes_ false mean_pktsize_ 540} {
  Queue/RED set $key $value
}
set left [$ns node]
set right [$ns node]
set server [$ns node]
$ns simplex-link $left $right 10Mb 10ms RED
$ns simplex-link $right $left 10Mb 10ms DropTail
$ns queue-limit $left $right 100
$ns queue-limit $right $left 100
$ns duplex-link $right $server 100Mb 10ms DropTail
set start [new RNG]
for {set i 0} {$i < 40} {incr i} {
  set host [$ns node]
  $ns duplex-link $host $left 10Mb 10ms DropTail
  set ends [expr {$i < 20 ? [list $host $server] : [list $server $host]}]
  set tcp [new Agent/TCP/Newreno]
  set sink [new Agent/TCPSink]
  $ns attach-agent [lindex $ends 0] $tcp
  $ns attach-agent [lindex $ends 1] $sink
  $ns connect $tcp $sink
  set ftp [new Application/FTP]
  $ftp attach-agent $tcp
  $ns at [$start uniform 0 1] "$ftp start"
}
if {$o(-stats)} {
  set monitor [$ns monitor-queue $left $right ""]
  $ns at $o(-end) {puts "{\"arrivals\": [$monitor set parrivals_]}"}
}
$ns at [expr {$o(-end) + 0.000001}] {exit 0}
$ns run
