//! QEMU's command line (7.2 and later), for machines `q35`, `pc` and `microvm`.

use boxlab_protocol::PORT_NAME;

use super::{Channels, Engine, socket_by_hand};
use crate::plan::{Accel, Boot, BootPlan, Devices, DiskInterface, Net, Share};
use crate::record::TRACE_LOG;

/// QEMU with KVM or with TCG.
#[derive(Debug, Clone, Copy)]
pub struct Qemu {
    accel: Accel,
}

impl Qemu {
    /// QEMU with an accelerator.
    pub fn new(accel: Accel) -> Self {
        Self { accel }
    }

    fn accel_argument(self, plan: &BootPlan) -> String {
        match (self.accel, &plan.engine.kvm_path) {
            // One TCG thread a vCPU is QEMU's default where the guest's memory order allows it.
            (Accel::Tcg, _) => "tcg".to_owned(),
            (Accel::Kvm, None) => "kvm".to_owned(),
            // QEMU has taken another device node since 9.1.
            (Accel::Kvm, Some(path)) => format!("kvm,device={}", escape(&path.to_string_lossy())),
        }
    }
}

/// The bus of a machine type decides the names of virtio devices.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bus {
    Pci,
    Mmio,
}

impl Engine for Qemu {
    fn arguments(&self, plan: &BootPlan, box_id: &str, channels: Channels<'_>) -> Vec<String> {
        self.command_line(plan, &format!("boxlab-{box_id}"), box_id, Some(channels))
    }

    fn by_hand(&self, plan: &BootPlan, box_id: &str) -> Vec<String> {
        // Under another name: it is nobody's box, and no sweep may take it for one.
        self.command_line(plan, &format!("by-hand-{box_id}"), box_id, None)
    }

    fn accel(&self) -> Accel {
        self.accel
    }
}

impl Qemu {
    fn command_line(self, plan: &BootPlan, name: &str, box_id: &str, channels: Option<Channels<'_>>) -> Vec<String> {
        let bus = bus_of(&plan.machine);
        let mut argv = Argv::default();
        argv.pair("-name", name);
        argv.flag("-nodefaults").flag("-no-user-config").flag("-no-reboot");
        if channels.is_some() {
            argv.flag("-S");
            trace(&mut argv, &plan.trace);
        }
        argv.pair("-display", "none");
        if plan.shares.is_empty() {
            argv.pair("-machine", &plan.machine);
        } else {
            // What serves a share reads and writes the guest's memory itself.
            argv.pair("-object", format!("memory-backend-memfd,id=memory,size={}M,share=on", plan.memory_mib));
            argv.pair("-machine", format!("{},memory-backend=memory", plan.machine));
        }
        argv.pair("-accel", self.accel_argument(plan));
        argv.pair("-cpu", &plan.cpu_model).pair("-smp", plan.cpus.to_string());
        argv.pair("-m", format!("{}M", plan.memory_mib));
        // Boards have their first serial port built in (microvm) or take it from `-serial` (q35, pc).
        if let Some(Channels { qmp, console, .. }) = channels {
            argv.pair("-chardev", format!("socket,id=qmp,fd={qmp}")).pair("-mon", "chardev=qmp,mode=control");
            // A pipe, not a socket: the port hands over byte by byte, and each byte that waits in a socket is a packet
            // of its own. Some 277 of them fill its buffer, and then the guest waits for the reader.
            argv.pair("-add-fd", format!("fd={console},set=1,opaque=console"));
            argv.pair("-chardev", "file,id=console,path=/dev/fdset/1,append=on");
            argv.pair("-serial", "chardev:console");
        } else {
            argv.pair("-serial", "mon:stdio");
        }
        if let Some(firmware) = &plan.firmware {
            argv.pair("-bios", firmware.to_string_lossy());
        }
        if let Boot::Direct { kernel, initrd, cmdline } = &plan.boot {
            argv.pair("-kernel", kernel.to_string_lossy()).pair("-initrd", initrd.to_string_lossy());
            argv.pair("-append", cmdline);
        }
        disks(&mut argv, plan, bus);
        if bus == Bus::Mmio && !plan.shares.is_empty() {
            // virtio-mmio is of the time before virtio 1.0 unless told otherwise, and vhost-user knows nothing older.
            argv.pair("-global", "virtio-mmio.force-legacy=false");
        }
        for (index, share) in plan.shares.iter().enumerate() {
            let end = match channels {
                Some(Channels { shares, .. }) => format!("fd={}", shares[index]),
                None => format!("path={}", socket_by_hand(box_id, share)),
            };
            share_device(&mut argv, share, &end, bus);
        }
        let agent = match channels {
            Some(Channels { agent, .. }) => format!("socket,id=agent,fd={agent}"),
            None => "null,id=agent".to_owned(),
        };
        devices(&mut argv, &plan.devices, plan.agent.then_some(agent), bus);
        argv.0
    }
}

fn bus_of(machine: &str) -> Bus {
    let kind = machine.split(',').next().unwrap_or(machine);
    if kind == "microvm" && !machine.contains("pcie=on") { Bus::Mmio } else { Bus::Pci }
}

/// Into the record, in which the engine runs. Each event is named by itself: one that this version does not have is a
/// warning, and the others come all the same.
fn trace(argv: &mut Argv, events: &[String]) {
    if events.is_empty() {
        return;
    }
    argv.pair("-msg", "timestamp=on").pair("-D", TRACE_LOG);
    for event in events {
        argv.pair("-trace", event);
    }
}

fn disks(argv: &mut Argv, plan: &BootPlan, bus: Bus) {
    for disk in &plan.disks {
        // A throw-away layer takes the writes: the user's file is only read, also by two boxes at once.
        let writes = if disk.readonly { "readonly=on" } else { "snapshot=on" };
        let path = escape(&disk.path.to_string_lossy());
        let id = &disk.id;
        argv.pair("-drive", format!("if=none,id={id}-drive,file={path},format={},{writes}", disk.format));
        let device = match disk.interface {
            // The guest finds a disk by its serial number, whatever name the kernel gives it.
            DiskInterface::Virtio => format!("{},serial={id}", virtio("blk", id, bus, plan.devices.ioeventfd)),
            DiskInterface::Ide => format!("ide-hd,id={}", disk.id),
        };
        argv.pair("-device", format!("{device},drive={id}-drive"));
    }
}

fn share_device(argv: &mut Argv, Share { id, .. }: &Share, end: &str, bus: Bus) {
    let device = if bus == Bus::Pci { "vhost-user-fs-pci" } else { "vhost-user-fs-device" };
    argv.pair("-chardev", format!("socket,id={id}-channel,{end}"));
    argv.pair("-device", format!("{device},id={id},chardev={id}-channel,tag={id}"));
}

fn devices(argv: &mut Argv, devices: &Devices, agent: Option<String>, bus: Bus) {
    if let Some(channel) = &agent {
        argv.pair("-chardev", channel);
        argv.pair("-device", virtio("serial", "serial0", bus, devices.ioeventfd));
        argv.pair("-device", format!("virtserialport,id=agent0,bus=serial0.0,chardev=agent,name={PORT_NAME}"));
    }
    if bus == Bus::Pci && agent.is_some() {
        argv.pair("-device", "pvpanic-pci,id=pvpanic0");
    }
    if devices.rng {
        argv.pair("-object", "rng-random,id=random,filename=/dev/urandom");
        argv.pair("-device", format!("{},rng=random", virtio("rng", "rng0", bus, devices.ioeventfd)));
    }
    if devices.net == Net::User {
        argv.pair("-netdev", "user,id=net");
        argv.pair("-device", format!("{},netdev=net", virtio("net", "net0", bus, devices.ioeventfd)));
    }
    if devices.balloon {
        argv.pair("-device", virtio("balloon", "balloon0", bus, devices.ioeventfd));
    }
    for port in 0..devices.hotplug_ports {
        argv.pair("-device", format!("pcie-root-port,id=hotplug{port},chassis={},slot={port}", port + 1));
    }
    argv.0.extend(devices.extra.iter().cloned());
}

fn virtio(kind: &str, id: &str, bus: Bus, ioeventfd: bool) -> String {
    let suffix = if bus == Bus::Pci { "pci" } else { "device" };
    // virtio-rng has no ioeventfd of its own on the mmio bus, and on is the default everywhere: only off is said.
    let off = if ioeventfd || bus == Bus::Mmio { "" } else { ",ioeventfd=off" };
    format!("virtio-{kind}-{suffix},id={id}{off}")
}

/// A comma ends an option's value in QEMU; two of them are one.
fn escape(value: &str) -> String {
    value.replace(',', ",,")
}

#[derive(Default)]
struct Argv(Vec<String>);

impl Argv {
    fn flag(&mut self, flag: &str) -> &mut Self {
        self.0.push(flag.to_owned());
        self
    }

    fn pair(&mut self, flag: &str, value: impl AsRef<str>) -> &mut Self {
        self.flag(flag).flag(value.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(changes: serde_json::Value) -> BootPlan {
        let mut plan = serde_json::json!({
            "engine": { "binary": "/usr/bin/qemu-system-x86_64", "accel": "tcg", "asked": "auto", "reason": "r" },
            "machine": "q35", "cpuModel": "max", "cpus": 2, "memoryMib": 512,
            "boot": { "kind": "direct", "kernel": "/k", "initrd": "/i", "cmdline": "console=ttyS0 a=b,c" },
            "devices": { "rng": true, "net": "none", "balloon": false, "hotplugPorts": 0, "ioeventfd": true, "extra": [] },
            "agent": true, "ready": "agent-ready", "limits": { "bootMs": 1, "stopMs": 1 },
        });
        for (key, value) in changes.as_object().unwrap() {
            plan[key] = value.clone();
        }
        serde_json::from_value(plan).unwrap()
    }

    fn line(plan: &BootPlan) -> String {
        let channels = Channels { qmp: 10, console: 11, agent: 12, shares: &[13] };
        Qemu::new(plan.engine.accel).arguments(plan, "b1", channels).join(" ")
    }

    #[test]
    fn a_bare_box_on_q35_is_this_command_line() {
        assert_eq!(
            line(&plan(serde_json::json!({}))),
            "-name boxlab-b1 -nodefaults -no-user-config -no-reboot -S -display none -machine q35 -accel tcg -cpu max \
             -smp 2 -m 512M -chardev socket,id=qmp,fd=10 -mon chardev=qmp,mode=control \
             -add-fd fd=11,set=1,opaque=console -chardev file,id=console,path=/dev/fdset/1,append=on \
             -serial chardev:console -kernel /k -initrd /i \
             -append console=ttyS0 a=b,c -chardev socket,id=agent,fd=12 -device virtio-serial-pci,id=serial0 \
             -device virtserialport,id=agent0,bus=serial0.0,chardev=agent,name=boxlab.agent.0 \
             -device pvpanic-pci,id=pvpanic0 -object rng-random,id=random,filename=/dev/urandom \
             -device virtio-rng-pci,id=rng0,rng=random"
        );
    }

    #[test]
    fn a_trace_goes_into_the_record_event_by_event_and_nobody_traces_by_hand() {
        let plan = plan(serde_json::json!({ "trace": ["pci_cfg_read", "kvm_run_exit"] }));
        let argv = line(&plan);
        let wanted = " -msg timestamp=on -D trace/qemu.log -trace pci_cfg_read -trace kvm_run_exit ";
        assert!(argv.contains(wanted), "{argv}");
        assert!(!Qemu::new(plan.engine.accel).by_hand(&plan, "b1").join(" ").contains("trace"));
    }

    #[test]
    fn by_hand_it_is_the_same_machine_on_a_terminal() {
        let plan = plan(serde_json::json!({}));
        assert_eq!(
            Qemu::new(plan.engine.accel).by_hand(&plan, "b1").join(" "),
            "-name by-hand-b1 -nodefaults -no-user-config -no-reboot -display none -machine q35 -accel tcg -cpu max \
             -smp 2 -m 512M -serial mon:stdio -kernel /k -initrd /i \
             -append console=ttyS0 a=b,c -chardev null,id=agent -device virtio-serial-pci,id=serial0 \
             -device virtserialport,id=agent0,bus=serial0.0,chardev=agent,name=boxlab.agent.0 \
             -device pvpanic-pci,id=pvpanic0 -object rng-random,id=random,filename=/dev/urandom \
             -device virtio-rng-pci,id=rng0,rng=random"
        );
    }

    #[test]
    fn a_microvm_has_its_devices_on_the_mmio_bus_unless_it_has_pcie() {
        let line_of = |machine: &str| line(&plan(serde_json::json!({ "machine": machine })));
        assert!(line_of("microvm").contains("-device virtio-serial-device,id=serial0 "));
        assert!(!line_of("microvm").contains("pci"));
        assert!(line_of("microvm,pcie=on").contains("-device virtio-serial-pci,id=serial0 "));
    }

    #[test]
    fn a_share_takes_shared_memory_and_a_channel_to_what_serves_it() {
        let daemon = serde_json::json!({ "binary": "/v", "args": [], "readonlyMounts": true });
        let share = serde_json::json!([{ "id": "root", "path": "/a", "daemon": daemon }]);
        let plan_on = |machine: &str| plan(serde_json::json!({ "machine": machine, "shares": share }));
        let memory = "-object memory-backend-memfd,id=memory,size=512M,share=on -machine q35,memory-backend=memory ";
        let device = "-device vhost-user-fs-pci,id=root,chardev=root-channel,tag=root ";
        let booted = line(&plan_on("q35"));
        assert!(booted.contains(memory) && booted.contains(device), "{booted}");
        assert!(booted.contains("-chardev socket,id=root-channel,fd=13 "), "{booted}");
        let by_hand = Qemu::new(Accel::Tcg).by_hand(&plan_on("q35"), "b1").join(" ");
        assert!(by_hand.contains(memory) && by_hand.contains(device), "{by_hand}");
        assert!(by_hand.contains("-chardev socket,id=root-channel,path=/tmp/by-hand-b1-root.sock "), "{by_hand}");
        let on_mmio = line(&plan_on("microvm"));
        assert!(on_mmio.contains("-global virtio-mmio.force-legacy=false "), "{on_mmio}");
        assert!(on_mmio.contains("-device vhost-user-fs-device,id=root,"), "{on_mmio}");
    }

    #[test]
    fn a_firmware_box_has_no_kernel_and_no_agent_and_its_disk_is_as_the_user_gave_it() {
        let line = line(&plan(serde_json::json!({
            "engine": { "binary": "q", "accel": "kvm", "asked": "kvm", "reason": "r", "kvmPath": "/dev/kvm2" },
            "boot": { "kind": "firmware" }, "agent": false,
            "disks": [{ "id": "d0", "path": "/a,b.img", "format": "raw", "readonly": false, "interface": "ide" }],
        })));
        assert!(line.contains("-accel kvm,device=/dev/kvm2 "), "{line}");
        assert!(!line.contains("-kernel") && !line.contains("agent") && !line.contains("pvpanic"), "{line}");
        let disk =
            "-drive if=none,id=d0-drive,file=/a,,b.img,format=raw,snapshot=on -device ide-hd,id=d0,drive=d0-drive";
        assert!(line.contains(disk), "{line}");
    }

    #[test]
    fn each_device_has_an_id_and_eventfds_can_be_off() {
        let line = line(&plan(serde_json::json!({
            "devices": { "rng": true, "net": "user", "balloon": true, "hotplugPorts": 2, "ioeventfd": false,
                         "extra": ["-device", "edu,id=mine"] },
        })));
        for device in line.split("-device ").skip(1) {
            assert!(device.split(' ').next().unwrap().contains("id="), "{device}");
        }
        assert_eq!(line.matches("ioeventfd=off").count(), 4, "{line}");
        assert!(line.contains("pcie-root-port,id=hotplug1,chassis=2,slot=1") && line.ends_with("-device edu,id=mine"));
    }
}
