//! Resources: values that terms hold references to.
//!
//! They differ from Rustler's in one way. A caller that looks into a term names the type of the resource that it expects.
//! Rustler finds that type in a table, by a keyed hash, each time. Here each type is a static of its own.
//!
//! Invariants:
//! 1. All types are opened while the library is loaded, before any function of it can be called, and do not change.
//! 2. Resources of a type are made by [`ResourceArc::new`] alone: so a whole value is at [`value`] from then on until the
//!    destructor, which takes it.
use rustler::codegen_runtime::{c_void, inventory};
use rustler::sys::{
    enif_alloc_resource, enif_get_resource, enif_init_resource_type, enif_keep_resource,
    enif_make_resource, enif_make_resource_binary, enif_monitor_process, enif_release_resource,
    ErlNifEnv, ErlNifMonitor, ErlNifPid, ErlNifResourceDown, ErlNifResourceDtor,
    ErlNifResourceFlags, ErlNifResourceType, ErlNifResourceTypeInit,
};
use rustler::{Decoder, Encoder, Env, Error, LocalPid, NifResult, Term};
use std::ffi::CString;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Deref;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed};

/// A type of value that a term can hold a reference to. `resource_type!` makes it known to the BEAM.
pub trait Resource: ResourceType + Send + Sync + 'static {
    /// True if its values are notified of the end of a process. Those that are not are smaller.
    const IMPLEMENTS_DOWN: bool = false;

    /// Ends the value when nothing refers to it any more.
    fn destructor(self, _env: Env<'_>) {}

    /// Notifies the value that the process it monitors has ended.
    fn down(&self) {}
}

/// The type of a resource.
pub trait ResourceType: Sized {
    /// Returns its type, as the BEAM knows it.
    fn kind() -> &'static ResourceKind;
}

/// A type of resources.
pub struct ResourceKind {
    name: fn() -> &'static str,
    init: ErlNifResourceTypeInit,
    opened: AtomicPtr<ErlNifResourceType>,
}

// SAFETY: the pointers are to functions.
unsafe impl Sync for ResourceKind {}

/// A type that is to be opened.
pub struct Declared(pub &'static ResourceKind);

inventory::collect!(Declared);

/// Makes a type of resources known, and takes references to them as arguments.
macro_rules! resource_type {
    ($type:ty) => {
        impl crate::term::resource::ResourceType for $type {
            fn kind() -> &'static crate::term::resource::ResourceKind {
                static KIND: crate::term::resource::ResourceKind =
                    crate::term::resource::ResourceKind::of::<$type>();
                rustler::codegen_runtime::inventory::submit!(crate::term::resource::Declared(
                    &KIND
                ));
                &KIND
            }
        }

        impl<'a> rustler::Decoder<'a> for &'a $type {
            fn decode(term: rustler::Term<'a>) -> rustler::NifResult<Self> {
                crate::term::resource::get(term).ok_or(rustler::Error::BadArg)
            }
        }
    };
}

impl ResourceKind {
    /// Describes the kind of resource that holds a `T`.
    pub const fn of<T: Resource>() -> ResourceKind {
        ResourceKind {
            name: std::any::type_name::<T>,
            init: ErlNifResourceTypeInit {
                dtor: end::<T> as *const ErlNifResourceDtor,
                stop: null(),
                down: match T::IMPLEMENTS_DOWN {
                    true => down::<T> as *const ErlNifResourceDown,
                    false => null(),
                },
                members: 3,
                dyncall: null(),
            },
            opened: AtomicPtr::new(null_mut()),
        }
    }

    // Relaxed: the BEAM orders the loading before all that follows (invariant 1).
    #[inline(always)]
    fn opened(&self) -> *const ErlNifResourceType {
        self.opened.load(Relaxed)
    }
}

/// Opens all types, while the library is loaded. Returns whether the BEAM has done so.
pub fn open_all(env: Env<'_>) -> bool {
    inventory::iter::<Declared>().all(|Declared(kind)| {
        let Ok(name) = CString::new((kind.name)()) else {
            return false;
        };
        let mut tried = MaybeUninit::uninit();
        // SAFETY: the functions are those of this type; the name is copied.
        let opened = unsafe {
            let create = ErlNifResourceFlags::ERL_NIF_RT_CREATE;
            let (env, init, tried) = (env.as_c_arg(), &raw const kind.init, tried.as_mut_ptr());
            enif_init_resource_type(env, name.as_ptr(), init, create, tried)
        };
        kind.opened.store(opened.cast_mut(), Relaxed);
        !opened.is_null()
    })
}

/// Returns where the value of a resource starts. The BEAM aligns its memory to words only.
#[inline(always)]
fn value<T>(resource: *const c_void) -> *mut T {
    let behind = align_of::<T>() - 1;
    let aligned = resource.map_addr(|address| (address + behind) & !behind);
    aligned.cast::<T>().cast_mut()
}

unsafe extern "C" fn end<T: Resource>(env: *mut ErlNifEnv, resource: *mut c_void) {
    // A panic must not reach the BEAM.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let lifetime = ();
        // SAFETY: the environment is good for this call; the value was made whole and is taken once (invariant 2).
        unsafe {
            let env = Env::new(&lifetime, env);
            value::<T>(resource).read().destructor(env);
        }
    }));
}

unsafe extern "C" fn down<T: Resource>(
    _env: *mut ErlNifEnv,
    resource: *mut c_void,
    _pid: *const ErlNifPid,
    _monitor: *const ErlNifMonitor,
) {
    // SAFETY: the BEAM keeps it during this call (invariant 2).
    let value = unsafe { &*value::<T>(resource) };
    let _ = catch_unwind(AssertUnwindSafe(|| value.down()));
}

/// The resource that a term refers to, if it is one of that type.
#[inline]
pub fn get<T: Resource>(term: Term<'_>) -> Option<&T> {
    // SAFETY: a term keeps its resource (invariant 2).
    find::<T>(term).map(|resource| unsafe { &*value(resource) })
}

#[inline]
fn find<T: Resource>(term: Term<'_>) -> Option<*const c_void> {
    let mut found = null();
    let env = term.get_env().as_c_arg();
    // SAFETY: the type is open (invariant 1); `found` is written on success.
    let is_one = unsafe { enif_get_resource(env, term.as_c_arg(), T::kind().opened(), &mut found) };
    (is_one != 0).then_some(found)
}

/// A reference to a resource, which keeps it as terms do.
pub struct ResourceArc<T: Resource> {
    resource: *const c_void,
    of: PhantomData<T>,
}

// SAFETY: it may be counted, used and ended on any thread, and so may the value.
unsafe impl<T: Resource> Send for ResourceArc<T> {}

// SAFETY: as above.
unsafe impl<T: Resource> Sync for ResourceArc<T> {}

impl<T: Resource> ResourceArc<T> {
    /// A new resource.
    pub fn new(new: T) -> ResourceArc<T> {
        let size = size_of::<T>() + align_of::<T>() - 1;
        // SAFETY: the type is open (invariant 1), and there is room for the value behind the next aligned address.
        let resource = unsafe {
            let resource = enif_alloc_resource(T::kind().opened(), size);
            value::<T>(resource).write(new);
            resource
        };
        ResourceArc {
            resource,
            of: PhantomData,
        }
    }

    /// A binary of bytes of the value, which keeps the resource as well.
    pub fn binary<'a>(&self, env: Env<'a>, bytes: impl FnOnce(&T) -> &[u8]) -> Term<'a> {
        let bytes = bytes(self);
        // SAFETY: the bytes do not change, and live as long as the resource.
        unsafe {
            let (data, size) = (bytes.as_ptr().cast(), bytes.len());
            let binary = enif_make_resource_binary(env.as_c_arg(), self.resource, data, size);
            Term::new(env, binary)
        }
    }

    /// Asks to be notified when that process ends. Returns whether the process is there.
    pub fn monitor(&self, env: Env<'_>, pid: &LocalPid) -> bool {
        let mut monitor = MaybeUninit::uninit();
        let (env, pid, to) = (env.as_c_arg(), pid.as_c_arg(), monitor.as_mut_ptr());
        // SAFETY: `env` is that of the calling process.
        unsafe { enif_monitor_process(env, self.resource, pid, to) == 0 }
    }

    /// Returns an identity that distinguishes resources.
    pub fn identity(&self) -> usize {
        self.resource.addr()
    }
}

impl<T: Resource> Deref for ResourceArc<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: this keeps it (invariant 2).
        unsafe { &*value(self.resource) }
    }
}

impl<T: Resource> Clone for ResourceArc<T> {
    fn clone(&self) -> Self {
        // SAFETY: this keeps it.
        unsafe { enif_keep_resource(self.resource) };
        ResourceArc {
            resource: self.resource,
            of: PhantomData,
        }
    }
}

impl<T: Resource> Drop for ResourceArc<T> {
    fn drop(&mut self) {
        // SAFETY: counted once for this.
        unsafe { enif_release_resource(self.resource) };
    }
}

/// A reference to a resource that somebody else keeps, such as a term for the length of a call. It counts only once it is to last longer: so
/// calls on different cores that refer to one resource write nothing in common.
pub struct LentResource<T: Resource> {
    resource: ManuallyDrop<ResourceArc<T>>,
    is_counted: AtomicBool,
}

impl<T: Resource> LentResource<T> {
    /// The resource of a term, if it is one of that type.
    ///
    /// # Safety
    ///
    /// Before the call ends that the term is of, this is dropped or [`LentResource::keep`] is called.
    pub unsafe fn of(term: Term<'_>) -> Option<LentResource<T>> {
        let resource = find::<T>(term)?;
        let of = PhantomData;
        Some(LentResource {
            resource: ManuallyDrop::new(ResourceArc { resource, of }),
            is_counted: AtomicBool::new(false),
        })
    }

    /// Counts from now on.
    pub fn keep(&self) {
        // Relaxed: whoever drops this comes after the caller, who has a part in it.
        if !self.is_counted.swap(true, Relaxed) {
            std::mem::forget(self.kept());
        }
    }

    /// Returns a reference that counts.
    pub fn kept(&self) -> ResourceArc<T> {
        ResourceArc::clone(&self.resource)
    }
}

impl<T: Resource> From<ResourceArc<T>> for LentResource<T> {
    fn from(resource: ResourceArc<T>) -> Self {
        LentResource {
            resource: ManuallyDrop::new(resource),
            is_counted: AtomicBool::new(true),
        }
    }
}

impl<T: Resource> Deref for LentResource<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.resource
    }
}

impl<T: Resource> Drop for LentResource<T> {
    fn drop(&mut self) {
        if *self.is_counted.get_mut() {
            // SAFETY: counted once for this, and not used again.
            unsafe { ManuallyDrop::drop(&mut self.resource) };
        }
    }
}

impl<T: Resource> Encoder for ResourceArc<T> {
    fn encode<'a>(&self, env: Env<'a>) -> Term<'a> {
        // SAFETY: this keeps it, and the term will.
        unsafe { Term::new(env, enif_make_resource(env.as_c_arg(), self.resource)) }
    }
}

impl<'a, T: Resource> Decoder<'a> for ResourceArc<T> {
    #[inline]
    fn decode(term: Term<'a>) -> NifResult<Self> {
        let resource = find::<T>(term).ok_or(Error::BadArg)?;
        // SAFETY: the term keeps it.
        unsafe { enif_keep_resource(resource) };
        Ok(ResourceArc {
            resource,
            of: PhantomData,
        })
    }
}
