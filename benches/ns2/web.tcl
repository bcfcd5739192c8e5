# ../../examples/web.toml in ns-2: a thousand web sessions and a little constant traffic behind RED.
source [file join [file dirname [info script]] common.tcl]
foreach {key value} {packetSize_ 1474 window_ 10000} {Agent/TCP set $key $value}
PagePool/WebTraf set TCPTYPE_ Sack1
PagePool/WebTraf set TCPSINKTYPE_ TCPSink/Sack1
foreach {key value} {thresh_ 35 maxthresh_ 150 linterm_ 10 q_weight_ 0.002 gentle_ false adaptive_ 0
                     bytes_ false queue_in_bytes_ false mean_pktsize_ 1514} {
  Queue/RED set $key $value
}
set left [$ns node]
set right [$ns node]
limited_link $left $right 10Mb 50ms RED 230
$ns simplex-link $right $left 10Mb 50ms DropTail
foreach delay {10 20 30 40} {
  lappend servers [set node [$ns node]]
  join_hosts $node $left 100Mb ${delay}ms
  lappend clients [set node [$ns node]]
  join_hosts $right $node 100Mb 1ms
}
# Sizes are drawn in packets of 1474 bytes.
sessions 1000 $clients $servers [random Uniform min_ 0 max_ 50] [random Pareto avg_ 50 shape_ 2] 0 \
  [random Pareto avg_ 4 shape_ 1.2] [random Pareto avg_ 0.5 shape_ 1.5] \
  [random Pareto avg_ [expr {12000 / 1474.0}] shape_ 1.2]
foreach from $servers to $clients {constant $from $to 250kb 573 1}
go
